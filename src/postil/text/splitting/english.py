"""English word lists for the tokeniser and the sentence splitter.

An apostrophe here stands for every apostrophe (straight, typographic, full width). Abbreviations are
written without their last period; an entry matches as written, with a capital, and all in capitals, so ``etc`` covers
``Etc.`` and ``ETC.`` while ``Sen`` leaves the word ``sen`` alone.
"""


def spellings(abbreviation: str) -> tuple[str, str, str]:
    """The three ways in which an entry may be written."""
    return abbreviation, abbreviation[0].upper() + abbreviation[1:], abbreviation.upper()


def _words(lines: str) -> tuple[str, ...]:
    return tuple(lines.split())


# Before a name: a sentence hardly ever ends here.
TITLES = _words("""
    Mr Mrs Ms Mx Dr Drs Prof Rev Fr Hon Pres Gov Sen Sens Rep Reps Gen Lt Col Maj Capt Cpt Cmdr Sgt Cpl Pvt Adm
    Messrs Mme Mlle St Ste Sts Mt Ft
""")

# Always followed by more of the same sentence.
CONNECTIVES = ("vs", "eg", "ie", "cf", "viz", "esp", "incl", "approx", "e.g", "i.e", "p.s", "PS")

# These may also end a sentence.
OTHER_ABBREVIATIONS = _words("""
    etc al Inc Corp Co Cos Ltd Bros Jr Sr Esq Ph.D Assn Dept Univ Ave Blvd Rd Hwy Attn Tel Jan Feb Apr Aug
    Sept Sep Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri yr yrs hr hrs mins lb lbs oz ext Calif Conn Va
""")

ABBREVIATIONS = TITLES + CONNECTIVES + OTHER_ABBREVIATIONS

# Ordinary words, letters or names, unless a number follows: "No. 5", "p. 12", "Sat. 9", "fig. 3".
ABBREVIATIONS_BEFORE_NUMBERS = _words("""
    no nos nr ca p pp pg vol vols ch sec fig figs eq eqs art ver v c Sat Sun Mar Jun Jul tel
""")

CONTRACTIONS = ("n't", "'s", "'m", "'re", "'ve", "'ll", "'d")

# One written word, several words: the bar shows where it is cut.
FUSED = (
    *_words("can|not gon|na wan|na got|ta out|ta gim|me lem|me du|n|no 't|is 't|was"),
    # the same contractions written without their apostrophe, where no other word is spelled alike
    *_words("do|nt does|nt did|nt is|nt are|nt was|nt were|nt have|nt has|nt had|nt could|nt would|nt should|nt"),
    *_words("ca|nt ai|nt I|m I|ve you|re you|ve they|re that|s what|s there|s he|s she|s"),
)

ELISIONS = ("'em", "'cause", "'til", "'till", "'n", "'n'", "'bout", "'round")

# Prefixes that the hyphen does not cut off.
HYPHEN_PREFIXES = _words("""
    a agro ante anti arch be bi bio co counter cross cyber de e eco ex extra hyper inter intra macro mega micro
    mid mini mis mono multi neo non over pan para peri poly post pre pro proto pseudo psycho quasi re semi socio
    sub super supra trans tri u ultra un uni vice x
""")

# Cut from the number before them: "5pm", "375mm", "24hrs".
UNITS = _words("""
    am pm k m p bn mm cm km ft in yd mi mg kg lb lbs oz ml cl sec secs min mins hr hrs day days yr yrs mph kph
    kb mb gb tb hz khz mhz ghz kw mw kwh mah px pt bps kbps mbps
""")

# "example.com", "letter.doc": a name that ends so is not cut at its periods.
NAME_ENDINGS = _words("""
    com net org edu gov mil int info biz eu uk ca au nz de fr es nl ch se dk fi ie jp cn ru br io co tv ai app
    dev doc docx xls xlsx ppt pptx pdf txt rtf csv tsv json xml htm html php asp jsp url jpg jpeg png gif bmp
    svg tif tiff mp3 mp4 avi mov wav zip tar gz exe dll py js css md cfg ini log
""")

# Capitalised, these begin a sentence even after an abbreviation: "at 5 p.m. The shop".
SENTENCE_STARTERS = _words("""
    a about after all also although an and another any as at because before both but by did do does each even
    every few finally first for from had has have he her here his how however i if in is it its just last later
    let many may maybe meanwhile most my nevertheless next no not now of on once one only or other our please
    she since so some such thank thanks that the their then there therefore these they this those though thus to
    today two under unfortunately unless until we were what when where which while who why will with would yes
    yet you your
""")

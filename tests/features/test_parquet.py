"""The Parquet reader against files that pyarrow wrote (kept here in base 85, so that no test needs pyarrow)."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError
from postil.features.parquet import _chunk, read_strings

WORDS = [f"made-up-{i * 37 % 101}-Ä" for i in range(60)] + ["made-up-0-Ä"] * 3

# pyarrow.parquet.write_table(pyarrow.table({"w": WORDS}), …, store_schema=False, write_statistics=False, and as said)
RIGHT = {
    "compression='snappy'": (
        "P(e~L6$BOT4;7dNOci()01^NI_Xj`>0001OVPs`3b#N^(EyIKj9S{UFH#!jj1UED~5dZ)&J~IFSG(Ix`060D~001&RGXMZJJ~IFS"
        "IX*K005d)_001@tGcLLS05dw6001;TG5`QK0WvP!001#QGXMZJJ~IFSI6gA~05U!^001^VGXMZNJ~IFSGd?o_05<_MF1i2!Ha@xl"
        "J~99RH~}&;x&S^i001>UGXMZNJ~IFSGCnf^05$<L01iFt1Tio^GyniIJ~RLTHvu#*y8r+=KDz)uG5`QL0WvbX06sGS05v`{0022Y"
        "GXMZGJ~IFSHUTp(hX4RFI)?xNGd?l^05<_LGKT;@GXMZIJ~IFSI6gA~05U!^001>UGXMZNJ~IFSGd?o_05$<LF1i2!H9EQg05m=_"
        "001`uGBUaVJ~IFSH9j){060D~001&RGXM}aGA+Y|6#x}*6?7~WeiaZE1{DSz0000u+yVdq0Db`m5kMdeL}46AqAX0~JWwP}RApUQ"
        "rfpp3ePAe#WNDsgs;+G7zHlthbZy^wuI~T<02KroEHwZa26JO*Wo=;<0ss{ZB?1@$cO?K!8~^|S7JeBV85|}692E>1H2?+>85jX~"
        "6#^E17Nijt(gr5L1tth7EENP502KlN6#x|w6#@V}7S;?I1{o#*egFUf7NijtekKSO(gpx1AaG%Fadl;MEn{$SEn#wUZ+9SeWpZ<A"
        "Z*CwmHZCwOF&P{j0001z0000`K~ga"
    ),
    "compression='none', use_dictionary=False": (
        "P(e~L6#y055Ea@GEERqg02Kxm1{?qY00IC20Db`s0001OVPs`3b#N^(EyIKj0001OVPs`3b#N^+H!Z`24FCWDZDC|(Ep>1$H#9B7"
        "gbe@y0BvDpWi54ZEio`H!-"
        "Ne0003=aWMwUNa4j@9EyIKj0001OVPs`3b#N^>G%dq~4FCWDZDC|(Ep>1$GB7Q}gbe@y0BvDpWi54ZEj2eS!-"
        "Ne0003=aWMwUNa4k7BEyIKj0001OVPs`3b#N^+FfGG`4FCWDZDC|(Ep>1$Ha9K9gbV-"
        "x0BvDpWi54ZEi)~{gbe@y0BvDpWi54ZEi^DK!-"
        "Ne0003=aWMwUNa4k1CEyIKj0001OVPs`3b#N^)GcCh}4FCWDZDC|(Ep>1$H83s1gbe@y0BvDpWi54ZEjTwV!-"
        "Ne0003=aWMwUNa4j-3EyIKj0001OVPs`3b#N^<FfGG`4FCWDZDC|(Ep>1$IX5lCgbe@y0BvDpWi54ZEi*GM!-"
        "Ne0003=aWMwUNa4k15EyIKi0001OVPs`3b#N^<EyIKj0001OVPs`3b#N^-"
        "GcCh}4FCWDZDC|(Ep>1$I4~{4gbe@y0BvDpWi54ZEipDN!-"
        "Ne0003=aWMwUNa4j`6EyIKj0001OVPs`3b#N^?FfGG`4FCWDZDC|(Ep>1$GBz#4gbe@y0BvDpWi54ZEjBYP!-"
        "Nh1003=aWMwUNa4j(~FfGG`4FCWDZDC|(Ep>1$Gd3;5gbe@y0BvDpWi54ZEjKeQ!-Na~003=aWMwUNa4k74!-"
        "Ne0003=aWMwUNa4j@8EyIKj0001OVPs`3b#N^>GcCh}4FCWDZDC|(Ep>1$F*z;6gbe@y0BvDpWi54ZEj2bR!-"
        "Ne0003=aWMwUNa4k7AEyIKj0001OVPs`3b#N^*IW5D44FCWDZDC|(Ep>1$Ha0E8gbV-"
        "x0BvDpWi54ZEix^`gbe@y0BvDpWi54ZEi*YS!-"
        "Ne0003=aWMwUNa4k1BEyIKj0001OVPs`3b#N^)GA+Y|4FCWDZDC|(Ep>1$G&wE9gbe@y0BvDpWi54ZEjTtU!-"
        "Ne0003=aWMwUNa4j-2EyIKj0001OVPs`3b#N^;IW5D44FCWDZDC|(Ep>1$IW{fBgbe@y0BvDpWi54ZEi*DL!-"
        "Ne0003=aWMwUNa4j}DEyIKi0001OVPs`3b#N^;EyIKj0001OVPs`3b#N^-"
        "GA+Y|4FCWDZDC|(Ep>1$H#sfCgbe@y0BvDpWi54ZEipAM!-"
        "Ne0003=aWMwUNa4j`5EyIKj0001OVPs`3b#N^>IW5D44FCWDZDC|(Ep>1$GBqv3gbe@y0BvDpWi54ZEjBVO!-"
        "Na~003=aWMwUNa4j$`!-Na~003=aWMwUNa4j$`!-Na~003=aWMwUNa4j$`!-N$C87wsb7zT4=Xk~3-"
        "6#@Vi3?%{>0e2+;OdJ3J02Y2392p!Y02~zz86^e)85jX~6#y1~7K9NNgb^kPNgNdb6#x|i06Z4f3>gL)CIEf_000(*5f*+X2o{79"
        "04N}EVRCVGWppiLaBwYQa&m8XAa-SPb7^mGATl;CFfK6}92@`u0EYko08l|vF#"
    ),
    "required, use_dictionary=False, data_page_size=200": (
        "P(e~L6#x~^5EY~aEERqg02Kxm1{?qY0H+8*3;+NCZDC|(Ep>1$FfGG`4IK~!GdDUB00cKQIuQT>F+MW@05m=`001~XGXMZGJ~IFS"
        "H9j){069K0001*SGXMZK0W&VT001*Om;eAYJ~99RHvuv(+yDSEJ~IFSH9j){060D~001&RGXMZKJ~IFSIX*K005d)_001`uGcLLS"
        "05(3l06sDR05}0MGP(dhGXMZJJ~IFSIX*K005U!^001@tGXM@f>jW_{J~RLTGd?r`05<_NF1r8#IX=4pJ~99RH~}&;y8u2j001>U"
        "GXMZNJ~IFSGCnf^05$<LE{6aBGCGF<05d)^001`uGBSq%J~IFSG(Ix`060D~001&RGXMZJJ~IFSIX*K005d)_001@tGcLLS05v+g"
        "001;TG5`QK0WvbW06sGS05v`{001~XGXMZGJ~IFSHUTp(hX5h^eh>f^1Q{$f02l^yV`yb<VHE-Z6$~W+7y)-"
        "B08AVJ000(#85|iLCIB223>hT`02vqocNGE_eirx;7S07G2uU0j02Kfg0suS~)(ja283q6V02cTV7JeoO7S06#C?IfQa&dKKbS-"
        "0Wa4lhSa&LDac4cyNX>V>IGBz$SE-@J#8~^|Sg#Z8mP(e~L"
    ),
    "dictionary_pagesize_limit=200, write_batch_size=8, data_page_size=100": (
        "P(e~L6$BNW1QpN$Ocfv%01^NIjsido0001OVPs`3b#N^(EyIKj9S{UFH#!jj1UED~5dZ)&J~IFSG(Ix`060D~001&RGXMZJJ~IFS"
        "IX*K005d)_001@tGcLLS05dw6001;TG5`QK0WvP!001#QGXM}ZFfGG`6#x|$6&frR5ET#=1{DSz0000BC;|Wg01yEK1Bk}@6#x|&"
        "6&x%T5ET#=1{DSz0000CECK)k01yEL1DLwp{uKZfngSJ!0W1{|6#x|m6$Tst004~vSONe501yEU0001OVPs`3b#N^>H!Z`2E)f6("
        "GBY|600cHLIuQT>IX*K005d)_001`uGXM-"
        "7W&k!iLjVvoGcCh}6#x~U0u_z{EENzH02Kxm1{?qY0FMD!0ssI25CIJU003=aWMwUNa4k46EyIK^5dZ`+HaZai1T`}{5dZ)=J~IF"
        "SGCnf^05$<L01h2y1Tio^Gyo7YHZ8-"
        "16#x~Q0u_z{EENzH02Kxm1{?qY0F41$0ssI25CIJU003=aWMwUNa4k18EyIKi9T5yUEyIK^Apit4HaZai05}0ME+PN`F+MW@05v`"
        "{0022YGXM}WIW5D46#x~Q0u_z{EENzH02Kxm1{?qY0F41$0ssI25CIJU003=aWMwUNa4j}AEyIKi9T5yNEyIK^Apit3IXV#l05<_"
        "LE+PN`F+MW@05m=`001~XGXM}WGA+Y|6#x~Q0u_z{EENzH02Kxm1{?qY0F41y0ssI25CIJU003=aWMwUNa4j`CEyIK^5dZ`^HaZa"
        "i1T!)^5dZ)-"
        "0W$y$E<^x2Apih0J~99RHvuv(WdIN{H7&!06#y0V0Tpg66%G{u6$TXs8~^|SdRPJg000gF4FCWDZDC|(Ep>1$H8L&3gf0;P1UNZ5"
        "5dZ`-H98Rh05$<L01O>O2rw<ff)D@|1Q{$f02l^yV`yb<VHE-Z6$~W;7y)-B08AVJ000(#85|iLCIB223>h^51`rt-"
        "0e2Mw7Je406c(NfCinp+2q`=j1Qh@k0ss{N6#x|s02Kfg5ETRfJQmgr83q|90Db@f02Zng7JeoO7M=?LC?IfQa&dKKbS-"
        "0Wa4lhSa&LDac4cyNX>V>IGBz$SE-@J#8~^|SnE(I)P(e~L"
    ),
    "row_group_size=20": (
        "P(e~L6$BNe1r_)KOcf{<01^NI(gHvX0001OVPs`3b#N^(EyIKj9S{UFH#!jj1UED~5dZ)&J~IFSG(Ix`060D~001&RGXMZJJ~IFS"
        "IX*K005d)_001@tGcLLS05dw6001;TG5`QK0WvP!001#QGXMZJJ~IFSI6gA~05U!^001^VGXM}dH!Z`26#x}36*4RpC>0PD1{DSz"
        "0000NSONe504M<k2Ox++ia98$#hQCC$_W4f6$BNg1r>q<Ocf{<01^NI(*i&Z0001OVPs`3b#N^+GcCh}E)f6}H!v;3gbW=b05&=y"
        "001;TG5`QL0WvN_001#QGXMZJJ~IFSIX*K005U!^001@tGXM@9hXgS&J~RLTGd?r`05<_NF1r8#IX=4pJ~99RH~}&;y8u2j001>U"
        "GXMZNJ~IFiGC3{7gcSf4E)_B?6(|)D6$TXs8~^|S7gz!S001Zf1qUFAL5evjsl}RmFv<x402Krkqy-iJ0ZbJr6#x<d0MY_P4FCWD"
        "ZDC|(Ep>1$Ha0E8gbW=K3^Falgf1Zf1T#505dZ);0WvNk001#QGXMZIJ~IFSI6gA~05U!^001>UGXMZNJ~IFSGd?o_05$<LF1i2!"
        "H9DyP05m=_001`uGBUaVJ~IFSH9j){060D~001&RGXM}aGA+Y|6#x}36*4RpC>0PD1{DSz0000NSONe504M<k2Ox++ia98$#hQCC"
        "$_W4f6$BL^6(md*0u=xf000m?3;+NCZDC|(Ep>1$FfGG`6#x|y6&5TN1{Dw$1{DSz00009AOZjY00sd81^^WV87wsb7zT4=Xk~3-"
        "6#@Vi3?%{>0e2+;OdJ3J02Y23Oc@*|02~zz88rX~5E&Q&cNGE_C>EFo7VrWlpaLccDJ&HP6#x|i02Kfg5ETLdJQjom83q|904M+e"
        "02Y`A7APhN7VrW985|}692E>1H2?+>85jX~6#^D07McbY`T{1J1t$0cDJ&HP6#x|i02Kfg5ETLdJQjuo83q|904M+e02Z1C7APk8"
        "0v7rL02v%602~zz88rX~5E&Q&cNGE_C>EFo7WM)rkO(I71t}~Q1Qh@k0ss{N6%Z8y06Z3i1Q`YyCIBb^000)41{NqL@&y+50st8t"
        "CIB223>h^51`rt-"
        "0e2Mw76uk{7JMeC2`1<WDJ&HP6#x|i02Kfg5ETLdJQhe91{o#*1^@s67IYQ{Cg=zjd;lmQaA9(Bb!BudV{mXSVRCYBcOZ6Ua&u{K"
        "ZXhx?E-)@J85|q{003wK002-yQZW"
    ),
}
OTHER = {
    "2 columns": (
        "P(e~L6$BLu6%I@l0u=xf000FL0RR91cohH@5)~FK6#^9y6$TXs8~^|S2_OOh000630RjLO1QiMu4onpS6#x<d00j^M0001a6#x|y"
        "6&5TN0u>My1{DSz00009AOZjY00IF40ss{R89X%r7zT4=Xk~3-"
        "6$Ahk3?%{>0bwNoOdJ3J02K@+0vG{eB>+qu0000M0vQ|`EG7UP6$}|Q00s~l7y)4w0u}-"
        "mUKVC1GA0NqEENP502KlN6#x|w6#@V}76KUt872S%0000c02~zz88rX~5E&Q&Vif`w0v28tW+s>cCT=M#6$BLk6#@Vi02L4w0suS"
        "~0vQGwCIA8e000)e0Tu!#2o}r%04N}EVRCVGWppiLaBwYQa&m8XAa-SPb7^mGATl;CFfK6}EF1s;8~^|S)&KwiP(e~L"
    ),
    "a column of numbers": (
        "P(e~L6$BL!6%<Sr0u=xf000Oa0RR91000006#x|y6&5TN0u>My1{DSz00009AOZjY00IF40ss{R87wsb7zT4=Xk~3-"
        "6#@Vi1SJ9(0bu|Z0vQ|`93}u96$BYI00s~l7y)4w0u}-"
        "mWEN~DI3@@wEENP502KlN6#x|w6#@V}DFzuP00IC202X8x0wxF+Yyc=AaA9(Bb!BudV{mXSVRCYBcOZ6Ua&u{KZXhx?E-"
        ")@J85|q{004vl002-yQZW"
    ),
    "a missing value": (
        "P(e~L6$BLu6%I@l0u=xf000FL0RR91cohH@5)~FK6$BL!6$TXs8~^|S2_OOh000940RjLO1Q{$f02l^yV`yb<VHE-"
        "Z6$~W;7y)4=08AVJ000&Q85|iLCIB223>h^51`rt-"
        "0bvya76cYv7G@?gCI~4k6$BLk6#@Vi02L4w0suS~0vQGwCISKg000(V76c{;7G?k_AaG%Fadl;MEn{$SEn#wUZ+9SeWpZ<AZ*Cwm"
        "HZCwOF&P{j0001t0000`K~ga"
    ),
    "compression 2": (
        "P(e~L6$BLu6*5c}0u=xf001A02mk;800065V`N}pr~m+?C!D1P0000L02LAyIxH0e6%Z8$6$Tst001A02mk;800065V`5-"
        "nU}9usVgLY`0CzbF0000L1Q{$f02l^yV`yb<VHE-Z6$~W;7y)4=08AVJ000&O85|iLCIB223>h^51`rt-"
        "0bvyc76KMt7Onv%Rwf83EENP502KlN6#x|w6#@V}76KUt872S%0000MUKRo-2o|mZ04N}EVRCVGWppiLaBwYQa&m8XAa-"
        "SPb7^mGATl;CFfK6}92@`u0FD3v08l|vF#"
    ),
    "a page of kind 3": (
        "P(e~L6$BLu6%I@l0u=xf000FL0RR91cohZ}3Ka@m6#^9i6#^9y6$BLk5*z>k00IF40ss{R87wsb7zT4=Xk~3-"
        "6#@Vi3?%{>0bwNoOdJ3J02Trn92p!Y02~zz88rX~5E&Q&VHE-"
        "v0v2EvWF|5u2q`QT1Qh@k0ss{N6%Z8y06Z1~83q|900IC202W{t0wxF+WB@22aA9(Bb!BudV{mXSVRCYBcOZ6Ua&u{KZXhx?E-"
        ")@J85|q{004{t002-yQZW"
    ),
    "encoding 6": (
        "P(e~L6#x|&6&x%T0u>Au1{DSz0000CECK)k00IGk0R#a8cohU0EHwZa26JO*Wo=;<0ss{ZB?1@$VI=@e8~^|S76KU@85|}692E>1"
        "B?b%`7y)4w0u}-"
        "mJ{CeI2uU0j02K@s0suS~0vQGwCIA8e000&~76K*+7D50hAaG%Fadl;MEn{$SEn#wUZ+9SeWpZ<AZ*CwmHZCwOF&P{j0001j0000"
        "`K~ga"
    ),
}


def written(tmp_path, content):
    path = tmp_path / "words.parquet"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", RIGHT)
def test_reads_what_pyarrow_wrote(tmp_path, name):
    assert read_strings(written(tmp_path, base64.b85decode(RIGHT[name]))) == WORDS


@pytest.mark.parametrize("name", OTHER)
def test_refuses_what_it_does_not_know(tmp_path, name):
    path = written(tmp_path, base64.b85decode(OTHER[name]))
    with pytest.raises(DataError, match=f"words.parquet: cannot read the Parquet file: .*got {name}"):
        read_strings(path)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(20) + b"PAR1", b"word 0.1 0.2"])
def test_refuses_other_files(tmp_path, content):
    with pytest.raises(DataError, match="cannot read the Parquet file: expected one column of strings"):
        read_strings(written(tmp_path, content))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("parquet")


FILES = {name: base64.b85decode(text) for name, text in RIGHT.items()}


@given(st.data(), st.sampled_from(sorted(FILES)))
def test_changed_and_lost_bytes_give_no_other_error(folder, data, name):
    content = bytearray(FILES[name])
    places = st.integers(0, len(content) - 1)
    for place, byte in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=4)):
        content[place] = byte
    first = data.draw(places)
    del content[first : first + data.draw(st.integers(0, 9))]
    try:
        read_strings(written(folder, bytes(content)))
    except DataError as error:
        assert "cannot read the Parquet file" in str(error)


@pytest.mark.parametrize("name", FILES)
def test_every_cut_is_found(folder, name):
    for length in range(0, len(FILES[name]), 7):
        with pytest.raises(DataError, match="cannot read the Parquet file"):
            read_strings(written(folder, FILES[name][:length]))


def test_pages_that_say_they_are_endless_are_refused(folder):
    """Sizes below zero would never end, numbers of values beyond all measure would fill the memory."""
    for header, message in (
        ({1: 0, 3: -4, 5: {1: 3, 2: 0}}, "a page that ends before it begins"),
        ({1: 0, 3: 0, 5: {1: 2**40, 2: 8}}, "more values than the file has"),
    ):
        with pytest.raises(ValueError, match=message):
            list(_chunk(thrift(header), total=3, codec=0, optional=False))


def thrift(fields):
    """A struct of whole numbers and structs in the compact protocol."""
    content, last = bytearray(), 0
    for number, value in fields.items():
        content.append((number - last) << 4 | (12 if isinstance(value, dict) else 5))
        content += thrift(value) if isinstance(value, dict) else varint(value << 1 if value >= 0 else (-value << 1) - 1)
        last = number
    return bytes(content) + b"\0"


def varint(value):
    head = bytearray()
    while value > 127:
        head.append(value & 127 | 128)
        value >>= 7
    return bytes(head) + bytes([value])

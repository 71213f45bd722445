/* NumPy tells of overflow and of inf - inf by the processor's flags; so do the kernels of training: cleared before, asked
   after. */

#ifndef POSTIL_FLAGS_H
#define POSTIL_FLAGS_H

#include <fenv.h>

#include "kernels.h"
#include "portable.h"

INLINED void clear_flags(void) { feclearexcept(FE_OVERFLOW | FE_INVALID); }
INLINED int done(void) { return fetestexcept(FE_OVERFLOW | FE_INVALID) ? NOT_FINITE : DONE; }

#endif

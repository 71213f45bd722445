/* NumPy tells of overflow and of inf - inf by the processor's flags; so do the kernels of training: cleared before, asked
   after. */

#ifndef POSTIL_FLAGS_H
#define POSTIL_FLAGS_H

#include <fenv.h>

#include "kernels.h"
#include "portable.h"

/* C99 leaves them out where there are no flags, as in WebAssembly: overflow is not reported there. */
#ifndef FE_OVERFLOW
#define FE_OVERFLOW 0
#endif
#ifndef FE_INVALID
#define FE_INVALID 0
#endif

INLINED void clear_flags(void) { feclearexcept(FE_OVERFLOW | FE_INVALID); }
INLINED int done(void) { return fetestexcept(FE_OVERFLOW | FE_INVALID) ? NOT_FINITE : DONE; }

/* Calls the function for float if `single`, else that for double (see both_types.h), and asks for the flags. */
#define BY_TYPE(name, ...) \
    (clear_flags(), single ? name##_single(__VA_ARGS__) : name##_double(__VA_ARGS__), done())

#endif

/* Includes BODY once with REAL = float and once with REAL = double; OF(name) is the name of a function for that type. */

#define REAL float
#define OF(name) name##_single
#include BODY
#undef REAL
#undef OF
#define REAL double
#define OF(name) name##_double
#include BODY
#undef REAL
#undef OF
#undef BODY

/* Probabilities as decimal text, digit for digit as Python writes them. */

#ifndef POSTIL_DECIMALS_H
#define POSTIL_DECIMALS_H

#include <math.h>
#include <stdint.h>

#include "portable.h"

enum { LONGEST_DECIMAL = 16 };

/* Whether x can be written: a probability, rounding errors allowed. */
INLINED int is_share(double x) { return x >= 0.0 && x < 2.0; }

/* x · scale to the nearest whole number, of two that are equally near to the even one, as if computed exactly: fma
   returns what the product has lost. */
INLINED int64_t rounded(double x, double scale) {
    const double y = x * scale, below = floor(y), lost = fma(x, scale, -y), over = (y - below - 0.5) + lost;
    const int64_t n = (int64_t)below;
    return n + (over > 0.0 || (over == 0.0 && (n & 1)));
}

INLINED int digits(int64_t n, int count, uint8_t *out) {
    for (int i = count - 1; i >= 0; i--, n /= 10) out[i] = (uint8_t)('0' + n % 10);
    return count;
}

/* As format(x, ".4f"); the bytes written. */
INLINED int write_fixed(double x, uint8_t *out) {
    const int64_t n = rounded(x, 1e4);
    out[0] = (uint8_t)('0' + n / 10000);
    out[1] = '.';
    return 2 + digits(n % 10000, 4, out + 2);
}

/* As repr(round(x, 6)): no zeros at the end, and an exponent below 0.0001. */
INLINED int write_short(double x, uint8_t *out) {
    int64_t n = rounded(x, 1e6);
    int at = 0, count = 6;
    if (n > 0 && n < 100) {
        const int tens = n >= 10;
        out[at++] = (uint8_t)('0' + (tens ? n / 10 : n));
        if (tens && n % 10) out[at++] = '.', out[at++] = (uint8_t)('0' + n % 10);
        out[at++] = 'e', out[at++] = '-', out[at++] = '0', out[at++] = (uint8_t)('6' - tens);
        return at;
    }
    out[at++] = (uint8_t)('0' + n / 1000000);
    out[at++] = '.';
    for (n %= 1000000; count > 1 && n % 10 == 0; count--) n /= 10;
    return at + digits(n, count, out + at);
}

#endif

#pragma once
// ADAGP_WIDE in front of a function: also compiled for the widest registers there may be, and
// chosen when the program starts. The same results: AVX2 alone contracts no multiplication and
// addition.

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ADAGP_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define ADAGP_WIDE
#endif

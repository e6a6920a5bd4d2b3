# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# What the compiled folds share; ``slots.py`` says the same for Python.

cdef inline long long place(long long log, long long producer, long long secret, int bits) noexcept:
    cdef unsigned long long u = <unsigned long long> (producer ^ (log << 40)) * <unsigned long long> secret
    return <long long> (u >> (64 - bits))

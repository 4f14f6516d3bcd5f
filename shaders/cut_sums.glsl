// CUT_SUMS is defined on VideoCore IV, which truncates all additions toward zero.
//
// There, sums start farther from zero by the mean of the truncation. LATE_FETCH identifies VideoCore IV. A runner
// defines NEAREST_SUMS if it has measured that the GPU rounds to nearest.
#if defined(LATE_FETCH) && !defined(NEAREST_SUMS)
#define CUT_SUMS
#endif

// A device that fetches late (convolution.frag) is VideoCore IV, which cuts every addition toward zero. Unless its
// runner has measured that it rounds to nearest, sums there start a little farther from zero, so that they end where
// they should.
#if defined(LATE_FETCH) && !defined(NEAREST_SUMS)
#define CUT_SUMS
#endif

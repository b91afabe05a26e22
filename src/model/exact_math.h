// Elementary functions in double precision from additions, products and FMA alone: the same bits on
// every machine, which a C library's do not promise. Used for rotary angles, where nothing is worth
// being faster.
#ifndef FOLIO_MODEL_EXACT_MATH_H_
#define FOLIO_MODEL_EXACT_MATH_H_

namespace folio {

struct SinCos {
  double sine = 0;
  double cosine = 1;
};

// Error at most 2^-50 absolute for |x| < 2^30.
SinCos ExactSinCos(double x);
// Relative error at most 2^-49 for |x| < 700.
double ExactExp(double x);
// Absolute error at most 2^-49 * max(1, |ln x|) for normal x > 0.
double ExactLog(double x);
// x^y for normal x > 0: relative error at most 2^-49 * (1 + 2 * |y| * max(1, |ln x|)), |y ln x| <
// 700.
double ExactPow(double x, double y);
// 2^x, exact for whole x: relative error at most 2^-49, |x| < 1000.
double ExactExp2(double x);

}  // namespace folio

#endif  // FOLIO_MODEL_EXACT_MATH_H_

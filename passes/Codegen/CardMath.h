// SPDX-License-Identifier: Apache-2.0
// Math functions by hardware instructions of a GPU (ex2, rcp, cvt).
#ifndef ACCUM_PASSES_CODEGEN_CARDMATH_H
#define ACCUM_PASSES_CODEGEN_CARDMATH_H

namespace mlir {
class RewritePatternSet;
}

namespace accum::codegen {

/// exp, tanh, erf, reciprocals, the larger of two and rounding to bf16, on f32 and vectors of it, by what
/// every card since sm_80 has for them. A memory-bound kernel has 20 to 50 instructions for an element on a
/// card of 3 to 8 TB/s. They come before the patterns for any processor (benefit 2).
///
/// Errors: of e^x (|x| + 2) * 2^-24, relative, and what would be denormal is zero; of tanh 3 * 2^-24,
/// relative, and where it carries the flag `afn`, absolute; of a reciprocal 2^-23, relative.
void populateCardMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace accum::codegen
#endif

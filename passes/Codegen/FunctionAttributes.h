// SPDX-License-Identifier: Apache-2.0
// What a GPU's kernel function tells the code generator beyond LLVM's own attributes.
#ifndef ACCUM_PASSES_CODEGEN_FUNCTIONATTRIBUTES_H
#define ACCUM_PASSES_CODEGEN_FUNCTIONATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace accum::codegen {

/// Its loops are unrolled as far as its registers allow: ptxas must not unroll them once more.
constexpr llvm::StringLiteral kKeepsLoops = "accum.keep-loops";

} // namespace accum::codegen
#endif

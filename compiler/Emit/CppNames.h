// SPDX-License-Identifier: Apache-2.0
// C++ identifiers and comments from the names of an ONNX file.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include <string>

namespace accum::emit {

/// Identifiers of one scope, each handed out once.
class CppNames {
public:
  explicit CppNames(llvm::ArrayRef<llvm::StringRef> reserved);

  /// An identifier that reads like `label`: `/h.0/ln_1` gives `h_0_ln_1`, a second one `h_0_ln_1_2`. Never a
  /// keyword.
  std::string unique(llvm::StringRef label);

private:
  llvm::StringSet<> taken;
};

/// `text` as it may stand behind `//`: printable, and not continued on the next line.
std::string cppComment(llvm::StringRef text);

} // namespace accum::emit

// SPDX-License-Identifier: Apache-2.0
// Where code of a kernel is being written: the tree of loop bodies, and the values that live in them.
//
// Kernels are written by asking for elements (Emitter.h). A value is placed in the outermost scope in which
// everything that it is made of is known, so that what does not depend on a loop is computed before it.
#pragma once

#include "mlir/IR/Builders.h"
#include <map>
#include <vector>

namespace accum::codegen {

struct Scope;

/// One coordinate of an element.
struct Index {
  enum class Form {
    Uniform, ///< the same for all lanes: an i64
    Lanes,   ///< value, value + 1, value + 2, ...: `value` is the first lane's i64
    Vector   ///< anything: a vector of i64
  };
  mlir::Value value;
  Scope *scope = nullptr;
  Form form = Form::Uniform;
  /// What `value` is known to be a multiple of (0: it is zero).
  int64_t multiple = 1;

  bool isUniform() const { return form == Form::Uniform; }
};

/// A computed number: a scalar where it is the same for all lanes, else a vector.
struct Element {
  mlir::Value value;
  Scope *scope = nullptr;
};

/// Lanes that exist; no value: all of them. Elements of other lanes are unspecified but harmless.
struct Mask {
  mlir::Value value;
  Scope *scope = nullptr;
  explicit operator bool() const { return static_cast<bool>(value); }
};

/// A loop body (or a kernel's body) that code is being added to. New code stands before `anchor`: the body's
/// end, or the inner loop that is being written.
struct Scope {
  using Key = std::vector<const void *>;

  Scope *parent = nullptr;
  mlir::Operation *anchor = nullptr;
  int depth = 0;
  /// In GPU code: threads of one team run this with different values.
  bool perThread = false;
  std::map<Key, Element> known;
  /// What each thread does by itself in here, where the columns of a row are the team's exactly; else null.
  Scope *ownColumns = nullptr;

  /// What was computed here or further out under this key.
  const Element *lookup(const Key &key) const {
    for (const Scope *scope = this; scope; scope = scope->parent)
      if (auto it = scope->known.find(key); it != scope->known.end())
        return &it->second;
    return nullptr;
  }
};

inline Scope *deeper(Scope *a, Scope *b) { return a->depth < b->depth ? b : a; }

} // namespace accum::codegen

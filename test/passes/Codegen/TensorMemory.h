// SPDX-License-Identifier: Apache-2.0
// Memory of a kernel's tensors, and how a kernel is run on it.
#pragma once

#include "dialects/Train/RowPitch.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/accum_program.h"
#include "llvm/ADT/APFloat.h"
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace accum::test {

/// Memory of a tensor between two guards; starts as garbage, which stays between rows that lie apart.
struct TensorMemory {
  static constexpr size_t kGuard = 64;
  static constexpr uint8_t kPattern = 0xCD;

  mlir::RankedTensorType type;
  size_t pitch; ///< elements; 0: rows lie one behind the other
  std::vector<uint8_t> bytes;

  explicit TensorMemory(mlir::Type tensor, int64_t pitch = 0)
      : type(mlir::cast<mlir::RankedTensorType>(tensor)), pitch(static_cast<size_t>(pitch)) {
    size_t elements = type.getNumElements();
    bytes.assign((pitch == 0 ? elements : elements / columns() * pitch) * width() + 2 * kGuard, kPattern);
  }
  size_t columns() const { return static_cast<size_t>(type.getShape().back()); }
  /// Where element `i` lies.
  size_t place(size_t i) const { return pitch == 0 ? i : i / columns() * pitch + i % columns(); }
  size_t width() const { return std::max(1u, type.getElementTypeBitWidth() / 8); }
  uint8_t *data() { return bytes.data() + kGuard; }
  bool guarded() const {
    auto intact = [](uint8_t byte) { return byte == kPattern; };
    size_t step = pitch * width();
    for (size_t row = kGuard; step > 0 && row + kGuard < bytes.size(); row += step)
      if (!std::all_of(bytes.begin() + row + columns() * width(), bytes.begin() + row + step, intact))
        return false;
    return std::all_of(bytes.begin(), bytes.begin() + kGuard, intact) &&
           std::all_of(bytes.end() - kGuard, bytes.end(), intact);
  }

  template <typename T> void put(size_t i, double value) {
    T narrow = static_cast<T>(value);
    std::memcpy(data() + place(i) * sizeof(T), &narrow, sizeof(T));
  }
  template <typename T> double get(size_t i) {
    T narrow;
    std::memcpy(&narrow, data() + place(i) * sizeof(T), sizeof(T));
    return static_cast<double>(narrow);
  }
  /// Calls `visit` with a value of the element's C type.
  template <typename Visit> auto visit(Visit visit) {
    mlir::Type element = type.getElementType();
    if (element.isF64())
      return visit(double());
    if (element.isF32())
      return visit(float());
    if (element.isInteger(64))
      return visit(int64_t());
    if (element.isInteger(32))
      return visit(int32_t());
    if (element.isUnsignedInteger(8))
      return visit(uint8_t());
    return visit(int8_t());
  }
  bool is16() const { return type.getElementTypeBitWidth() == 16; }
  void write(const std::vector<double> &values) {
    ASSERT_EQ(static_cast<int64_t>(values.size()), type.getNumElements());
    for (size_t i = 0; i < values.size(); ++i) {
      if (is16()) {
        llvm::APFloat number(values[i]);
        bool lossy;
        number.convert(mlir::cast<mlir::FloatType>(type.getElementType()).getFloatSemantics(),
                       llvm::APFloat::rmNearestTiesToEven, &lossy);
        put<uint16_t>(i, number.bitcastToAPInt().getZExtValue());
      } else {
        visit([&](auto sample) { put<decltype(sample)>(i, values[i]); });
      }
    }
  }
  std::vector<double> read() {
    std::vector<double> values(type.getNumElements());
    for (size_t i = 0; i < values.size(); ++i) {
      if (is16()) {
        auto &semantics = mlir::cast<mlir::FloatType>(type.getElementType()).getFloatSemantics();
        values[i] = llvm::APFloat(semantics, llvm::APInt(16, static_cast<uint64_t>(get<uint16_t>(i))))
                        .convertToDouble();
      } else {
        values[i] = visit([&](auto sample) { return get<decltype(sample)>(i); });
      }
    }
    return values;
  }
};

/// A kernel's arguments and results, rows as far apart as it says.
inline std::vector<TensorMemory> memoryOf(mlir::func::FuncOp kernel) {
  std::vector<TensorMemory> memory;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    memory.emplace_back(kernel.getArgumentTypes()[i], argumentPitch(kernel, i));
  for (unsigned i = 0; i < kernel.getNumResults(); ++i)
    memory.emplace_back(kernel.getResultTypes()[i], resultPitch(kernel, i));
  return memory;
}

/// All chunks, the last one first.
inline void runChunks(const accum_kernel_v1 &kernel, void *const *args) {
  for (int64_t chunk = kernel.chunks - 1; chunk >= 0; --chunk)
    kernel.fn(args, kernel.n * chunk / kernel.chunks, kernel.n * (chunk + 1) / kernel.chunks);
}

} // namespace accum::test

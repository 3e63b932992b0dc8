// One loop over rows; what does not depend on the inner loop stands before it.
// RUN: accum-opt %s --accum-kernels-to-loops=lanes=16 --cse | FileCheck %s
// RUN: accum-opt %s --accum-kernels-to-loops --cse | FileCheck %s --check-prefix=REFERENCE

// 4 operands and results, rows of the first axis; the row's sum before the loop that uses it, the last 5 of 37
// columns under a mask.
// CHECK-LABEL: llvm.func hidden @kernel.centre(
// CHECK-SAME: accum.entry = array<i64: 0, 6, 1, 2>
// CHECK: scf.for
// CHECK:   scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<16xf64>)
// CHECK:     llvm.load {{.*}} -> vector<16xf32>
// CHECK:   llvm.intr.masked.load
// CHECK:   arith.truncf %{{.*}} : f64 to f32
// CHECK:   scf.for
// CHECK:     arith.subf %{{.*}} : vector<16xf32>
// CHECK:     llvm.store %{{.*}} : vector<16xf32>
// CHECK:   llvm.intr.masked.store
// CHECK-NOT: func.func

// REFERENCE-LABEL: llvm.func hidden @kernel.centre(
// REFERENCE-NOT: vector<
// REFERENCE: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f64)
func.func private @centre(%x: tensor<6x37xf32>) -> tensor<6x37xf32> attributes {accum.kernel = 0 : i64} {
  %s = nn.reduce <sum> (%x) {axes = array<i64: 1>} : (tensor<6x37xf32>) -> tensor<6xf32>
  %c = nn.reshape %s : tensor<6xf32> -> tensor<6x1xf32>
  %y = nn.elementwise <sub> (%x, %c) : (tensor<6x37xf32>, tensor<6x1xf32>) -> tensor<6x37xf32>
  return %y : tensor<6x37xf32>
}

// One number for each row, behind a column of them: rows are dealt out, six of a single sample too, and vectors run along the
// row, where lanes with a row each would gather from it.
// CHECK-LABEL: llvm.func hidden @kernel.rows(
// CHECK-SAME: accum.entry = array<i64: 1, 6, 6, 2>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<16xf64>)
// CHECK:   llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT: llvm.func
// REFERENCE-LABEL: llvm.func hidden @kernel.rows(
// REFERENCE-SAME: accum.entry = array<i64: 1, 6, 1, 2>
func.func private @rows(%x: tensor<1x6x40000xf32>) -> tensor<1x6xf32> attributes {accum.kernel = 1 : i64} {
  %s = nn.reduce <sum> (%x) {axes = array<i64: 2>} : (tensor<1x6x40000xf32>) -> tensor<1x6xf32>
  %c = nn.reshape %s : tensor<1x6xf32> -> tensor<1x6x1xf32>
  %l = nn.elementwise <log> (%c) : (tensor<1x6x1xf32>) -> tensor<1x6x1xf32>
  %y = nn.reshape %l : tensor<1x6x1xf32> -> tensor<1x6xf32>
  return %y : tensor<1x6xf32>
}

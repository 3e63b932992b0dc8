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

// Functions of f32 become arithmetic; f64 keeps them for libm.
// RUN: accum-opt %s --accum-kernels-to-loops=lanes=8 --accum-lower-math | FileCheck %s
// RUN: accum-opt %s --accum-kernels-to-loops --accum-lower-math=polynomials=false | FileCheck %s --check-prefix=REFERENCE

// CHECK-LABEL: llvm.func hidden @kernel.singles
// CHECK-NOT: math.exp
// CHECK-NOT: math.sin
// CHECK: math.fma
// CHECK: llvm.return
// REFERENCE-LABEL: llvm.func hidden @kernel.singles
// REFERENCE: math.exp
// REFERENCE: math.sin
func.func private @singles(%x: tensor<20xf32>) -> tensor<20xf32> attributes {accum.kernel = 0 : i64} {
  %e = nn.elementwise <exp> (%x) : (tensor<20xf32>) -> tensor<20xf32>
  %s = nn.elementwise <sin> (%e) : (tensor<20xf32>) -> tensor<20xf32>
  return %s : tensor<20xf32>
}

// CHECK-LABEL: llvm.func hidden @kernel.doubles
// CHECK: math.exp
func.func private @doubles(%x: tensor<20xf64>) -> tensor<20xf64> attributes {accum.kernel = 1 : i64} {
  %e = nn.elementwise <exp> (%x) : (tensor<20xf64>) -> tensor<20xf64>
  return %e : tensor<20xf64>
}

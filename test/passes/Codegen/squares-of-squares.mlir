// Squares of squares: each is looked at once.
// RUN: timeout 100 accum-opt %s --accum-kernels-to-loops=lanes=16 | FileCheck %s

// CHECK-LABEL: llvm.func hidden @kernel.squares(
// CHECK-COUNT-40: arith.mulf
// CHECK-NOT: arith.mulf
func.func private @squares(%s0: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {accum.kernel = 0 : i64} {
  %s1 = nn.elementwise <mul> (%s0, %s0) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s2 = nn.elementwise <mul> (%s1, %s1) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s3 = nn.elementwise <mul> (%s2, %s2) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s4 = nn.elementwise <mul> (%s3, %s3) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s5 = nn.elementwise <mul> (%s4, %s4) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s6 = nn.elementwise <mul> (%s5, %s5) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s7 = nn.elementwise <mul> (%s6, %s6) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s8 = nn.elementwise <mul> (%s7, %s7) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s9 = nn.elementwise <mul> (%s8, %s8) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s10 = nn.elementwise <mul> (%s9, %s9) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s11 = nn.elementwise <mul> (%s10, %s10) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s12 = nn.elementwise <mul> (%s11, %s11) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s13 = nn.elementwise <mul> (%s12, %s12) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s14 = nn.elementwise <mul> (%s13, %s13) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s15 = nn.elementwise <mul> (%s14, %s14) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s16 = nn.elementwise <mul> (%s15, %s15) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s17 = nn.elementwise <mul> (%s16, %s16) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s18 = nn.elementwise <mul> (%s17, %s17) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s19 = nn.elementwise <mul> (%s18, %s18) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s20 = nn.elementwise <mul> (%s19, %s19) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s21 = nn.elementwise <mul> (%s20, %s20) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s22 = nn.elementwise <mul> (%s21, %s21) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s23 = nn.elementwise <mul> (%s22, %s22) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s24 = nn.elementwise <mul> (%s23, %s23) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s25 = nn.elementwise <mul> (%s24, %s24) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s26 = nn.elementwise <mul> (%s25, %s25) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s27 = nn.elementwise <mul> (%s26, %s26) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s28 = nn.elementwise <mul> (%s27, %s27) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s29 = nn.elementwise <mul> (%s28, %s28) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s30 = nn.elementwise <mul> (%s29, %s29) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s31 = nn.elementwise <mul> (%s30, %s30) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s32 = nn.elementwise <mul> (%s31, %s31) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s33 = nn.elementwise <mul> (%s32, %s32) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s34 = nn.elementwise <mul> (%s33, %s33) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s35 = nn.elementwise <mul> (%s34, %s34) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s36 = nn.elementwise <mul> (%s35, %s35) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s37 = nn.elementwise <mul> (%s36, %s36) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s38 = nn.elementwise <mul> (%s37, %s37) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s39 = nn.elementwise <mul> (%s38, %s38) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %s40 = nn.elementwise <mul> (%s39, %s39) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  return %s40 : tensor<1x4xf32>
}

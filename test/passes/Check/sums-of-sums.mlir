// Sums of sums, each of them twice the one before: each is looked at once.
// RUN: not timeout 100 accum-opt %s -accum-check-placement 2>&1 | FileCheck %s

// CHECK: error: loc("/Tanh"("Tanh")): applies `tanh` to a sum over the samples
train.param @w : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0> trained
func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32> {
  %w = train.load_param @w : tensor<4xf32>
  %h = nn.elementwise <mul> (%x, %w) : (tensor<1x4xf32, #nn.extent<0>>, tensor<4xf32>) -> tensor<1x4xf32, #nn.extent<0>>
  %s0 = nn.reduce <sum> (%h) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32>
  %s1 = nn.elementwise <add> (%s0, %s0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s2 = nn.elementwise <add> (%s1, %s1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s3 = nn.elementwise <add> (%s2, %s2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s4 = nn.elementwise <add> (%s3, %s3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s5 = nn.elementwise <add> (%s4, %s4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s6 = nn.elementwise <add> (%s5, %s5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s7 = nn.elementwise <add> (%s6, %s6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s8 = nn.elementwise <add> (%s7, %s7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s9 = nn.elementwise <add> (%s8, %s8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s10 = nn.elementwise <add> (%s9, %s9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s11 = nn.elementwise <add> (%s10, %s10) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s12 = nn.elementwise <add> (%s11, %s11) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s13 = nn.elementwise <add> (%s12, %s12) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s14 = nn.elementwise <add> (%s13, %s13) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s15 = nn.elementwise <add> (%s14, %s14) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s16 = nn.elementwise <add> (%s15, %s15) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s17 = nn.elementwise <add> (%s16, %s16) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s18 = nn.elementwise <add> (%s17, %s17) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s19 = nn.elementwise <add> (%s18, %s18) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s20 = nn.elementwise <add> (%s19, %s19) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s21 = nn.elementwise <add> (%s20, %s20) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s22 = nn.elementwise <add> (%s21, %s21) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s23 = nn.elementwise <add> (%s22, %s22) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s24 = nn.elementwise <add> (%s23, %s23) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s25 = nn.elementwise <add> (%s24, %s24) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s26 = nn.elementwise <add> (%s25, %s25) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s27 = nn.elementwise <add> (%s26, %s26) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s28 = nn.elementwise <add> (%s27, %s27) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s29 = nn.elementwise <add> (%s28, %s28) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s30 = nn.elementwise <add> (%s29, %s29) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s31 = nn.elementwise <add> (%s30, %s30) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s32 = nn.elementwise <add> (%s31, %s31) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s33 = nn.elementwise <add> (%s32, %s32) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s34 = nn.elementwise <add> (%s33, %s33) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s35 = nn.elementwise <add> (%s34, %s34) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s36 = nn.elementwise <add> (%s35, %s35) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s37 = nn.elementwise <add> (%s36, %s36) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s38 = nn.elementwise <add> (%s37, %s37) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s39 = nn.elementwise <add> (%s38, %s38) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s40 = nn.elementwise <add> (%s39, %s39) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s41 = nn.elementwise <add> (%s40, %s40) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s42 = nn.elementwise <add> (%s41, %s41) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s43 = nn.elementwise <add> (%s42, %s42) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s44 = nn.elementwise <add> (%s43, %s43) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s45 = nn.elementwise <add> (%s44, %s44) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s46 = nn.elementwise <add> (%s45, %s45) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s47 = nn.elementwise <add> (%s46, %s46) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s48 = nn.elementwise <add> (%s47, %s47) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %l = nn.elementwise <tanh> (%s48) : (tensor<f32>) -> tensor<f32> loc("/Tanh"("Tanh"))
  return %l : tensor<f32>
}

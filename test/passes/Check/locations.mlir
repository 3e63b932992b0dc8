// Errors are located at ONNX nodes, and notes name them.
// RUN: not accum-opt %s -accum-check-placement 2>&1 | FileCheck %s

// CHECK: error: loc("/mean/Sub"("Sub")): uses a sum over all samples of the batch for each single sample [cross-batch]
// CHECK: note: {{.*}}the sum over the batch is taken by `/mean/ReduceMean` (ReduceMean)
train.param @w : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0> trained
func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32> {
  %w = train.load_param @w : tensor<4xf32>
  %h = nn.elementwise <mul> (%x, %w) : (tensor<1x4xf32, #nn.extent<0>>, tensor<4xf32>) -> tensor<1x4xf32, #nn.extent<0>>
  %s = nn.reduce <sum> (%h) {axes = array<i64: 0>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<4xf32> loc("/mean/ReduceMean"("ReduceMean"))
  %c = nn.elementwise <sub> (%h, %s) : (tensor<1x4xf32, #nn.extent<0>>, tensor<4xf32>) -> tensor<1x4xf32, #nn.extent<0>> loc("/mean/Sub"("Sub"))
  %l = nn.reduce <sum> (%c) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32>
  return %l : tensor<f32>
}

// Outputs in @predict: those that are rows of samples become a step of their own, with the inputs of @forward. A scalar beside the
// loss is added up with it.
// RUN: accum-opt %s -accum-check-placement -accum-differentiate=optimizer=sgd -accum-verify-placement | FileCheck %s

train.param @w : tensor<8x4xf32> from <"m.onnx", 0, 128, 0> trained

// CHECK-LABEL: train.step @step
// CHECK: train.yield %{{.*}}, %{{.*}}, %{{.*}} : tensor<f64, #nn.partial<sum>>, tensor<f64, #nn.partial<sum>>, tensor<8x4xf32, #nn.partial<sum>> to ["loss", "output:squares", @w]
// CHECK-LABEL: train.step @eval
// CHECK: to ["loss", "output:squares"]
// CHECK-LABEL: train.step @predict
// CHECK-SAME: inputs [{name = "t"}, {name = "x"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}]
// CHECK: train.phase "prediction" loop "micro-steps"(
// CHECK-SAME: tensor<1x8xf32, #nn.batched<0>>
// CHECK:   %[[Y:.*]] = nn.contract "bk,kn->bn"
// CHECK:   train.output %[[Y]] "y" : tensor<1x4xf32, #nn.batched<0>>
// CHECK-NOT: train.output
// CHECK:   train.yield
func.func @forward(%t: tensor<1x4xf32, #nn.extent<0>> {train.name = "t"}, %x: tensor<1x8xf32, #nn.extent<0>> {train.name = "x"})
    -> (tensor<f32>, tensor<f32>) attributes {train.scalars = ["squares"]} {
  %w = train.load_param @w : tensor<8x4xf32>
  %y = nn.contract "bk,kn->bn" (%x, %w) : (tensor<1x8xf32, #nn.extent<0>>, tensor<8x4xf32>) -> tensor<1x4xf32, #nn.extent<0>>
  %e = nn.elementwise <sub> (%y, %t) : (tensor<1x4xf32, #nn.extent<0>>, tensor<1x4xf32, #nn.extent<0>>) -> tensor<1x4xf32, #nn.extent<0>>
  %s = nn.elementwise <mul> (%e, %e) : (tensor<1x4xf32, #nn.extent<0>>, tensor<1x4xf32, #nn.extent<0>>) -> tensor<1x4xf32, #nn.extent<0>>
  %squares = nn.reduce <sum> (%s) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32>
  %sum = nn.reduce <sum> (%e) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32>
  %loss = nn.elementwise <add> (%squares, %sum) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss, %squares : tensor<f32>, tensor<f32>
}
// The second output is a sum over the samples, the third depends on all of them, the fourth is led by features.
func.func @predict(%x: tensor<1x8xf32, #nn.extent<0>> {train.name = "x"})
    -> (tensor<1x4xf32, #nn.extent<0>>, tensor<4xf32>, tensor<1x4xf32, #nn.extent<0>>, tensor<4x1xf32, #nn.extent<1>>)
    attributes {train.outputs = ["y", "columns", "parts", "turned"]} {
  %w = train.load_param @w : tensor<8x4xf32>
  %y = nn.contract "bk,kn->bn" (%x, %w) : (tensor<1x8xf32, #nn.extent<0>>, tensor<8x4xf32>) -> tensor<1x4xf32, #nn.extent<0>>
  %columns = nn.reduce <sum> (%x) {axes = array<i64: 0, 1>} : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<f32>
  %parts = nn.elementwise <div> (%y, %columns) : (tensor<1x4xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x4xf32, #nn.extent<0>>
  %sums = nn.reduce <sum> (%y) {axes = array<i64: 0>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<4xf32>
  %turned = nn.transpose %y [1, 0] : tensor<1x4xf32, #nn.extent<0>> -> tensor<4x1xf32, #nn.extent<1>>
  return %y, %sums, %parts, %turned : tensor<1x4xf32, #nn.extent<0>>, tensor<4xf32>, tensor<1x4xf32, #nn.extent<0>>, tensor<4x1xf32, #nn.extent<1>>
}

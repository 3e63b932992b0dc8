// RUN: accum-opt %s -accum-widen-floats | FileCheck %s

// CHECK: train.param @w : tensor<2xf64>
train.param @w : tensor<2xf32> from <"m.onnx", 0, 8, 0> trained
// CHECK-LABEL: func.func @forward(%{{.*}}: tensor<1x2xf64, #nn.extent<0>>, %{{.*}}: tensor<1xi64, #nn.extent<0>>) -> tensor<1x2xf64, #nn.extent<0>>
func.func @forward(%x: tensor<1x2xf32, #nn.extent<0>>, %i: tensor<1xi64, #nn.extent<0>>) -> tensor<1x2xf32, #nn.extent<0>> {
  // CHECK: nn.constant {value = dense<5.000000e-01> : tensor<f64>} : tensor<f64>
  %c = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  // CHECK: train.load_param @w : tensor<2xf64>
  %w = train.load_param @w : tensor<2xf32>
  // CHECK: nn.elementwise <mul> {{.*}} -> tensor<1x2xf64, #nn.extent<0>>
  %0 = nn.elementwise <mul> (%x, %w) : (tensor<1x2xf32, #nn.extent<0>>, tensor<2xf32>) -> tensor<1x2xf32, #nn.extent<0>>
  %1 = nn.elementwise <mul> (%0, %c) : (tensor<1x2xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x2xf32, #nn.extent<0>>
  return %1 : tensor<1x2xf32, #nn.extent<0>>
}

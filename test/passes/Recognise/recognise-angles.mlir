// atan2 as exporters write it: NaN at the origin, and so is its derivative on an axis.
// RUN: accum-opt %s -accum-recognise | FileCheck %s

// By TorchScript.
// CHECK-LABEL: func.func @plain
func.func @plain(%y: tensor<1x8xf32, #nn.extent<0>>, %x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[Y:.*]] = nn.elementwise <atan2> (%arg0, %arg1)
  // CHECK-NOT: <select>
  // CHECK: return %[[Y]]
  %z = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %pi = nn.constant {value = dense<3.14159274> : tensor<f32>} : tensor<f32>
  %q = nn.elementwise <div> (%y, %x) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %a = nn.elementwise <atan> (%q) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %u = nn.elementwise <add> (%a, %pi) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %d = nn.elementwise <sub> (%a, %pi) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %p = nn.elementwise <gt> (%y, %z) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xi1, #nn.extent<0>>
  %t = nn.elementwise <select> (%p, %u, %d) : (tensor<1x8xi1, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %n = nn.elementwise <lt> (%x, %z) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xi1, #nn.extent<0>>
  %r = nn.elementwise <select> (%n, %t, %a) : (tensor<1x8xi1, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %r : tensor<1x8xf32, #nn.extent<0>>
}

// By dynamo, which replaces the NaN.
// CHECK-LABEL: func.func @guarded
func.func @guarded(%y: tensor<1x8xf32, #nn.extent<0>>, %x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[Y:.*]] = nn.elementwise <atan2> (%arg0, %arg1)
  // CHECK-NOT: <select>
  // CHECK: return %[[Y]]
  %z = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %pi = nn.constant {value = dense<3.14159274> : tensor<f32>} : tensor<f32>
  %q = nn.elementwise <div> (%y, %x) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %a = nn.elementwise <atan> (%q) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %u = nn.elementwise <add> (%a, %pi) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %d = nn.elementwise <sub> (%a, %pi) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %p = nn.elementwise <gt> (%y, %z) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xi1, #nn.extent<0>>
  %t = nn.elementwise <select> (%p, %u, %d) : (tensor<1x8xi1, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %n = nn.elementwise <lt> (%x, %z) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xi1, #nn.extent<0>>
  %r = nn.elementwise <select> (%n, %t, %a) : (tensor<1x8xi1, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %i = nn.elementwise <is_nan> (%r) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xi1, #nn.extent<0>>
  %g = nn.elementwise <select> (%i, %z, %r) : (tensor<1x8xi1, #nn.extent<0>>, tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %g : tensor<1x8xf32, #nn.extent<0>>
}

// Turned by another angle it is another function.
// CHECK-LABEL: func.func @other_turn
func.func @other_turn(%y: tensor<1x8xf32, #nn.extent<0>>, %x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK-NOT: atan2
  // CHECK: return
  %z = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %pi = nn.constant {value = dense<3.0> : tensor<f32>} : tensor<f32>
  %q = nn.elementwise <div> (%y, %x) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %a = nn.elementwise <atan> (%q) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %u = nn.elementwise <add> (%a, %pi) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %d = nn.elementwise <sub> (%a, %pi) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %p = nn.elementwise <gt> (%y, %z) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xi1, #nn.extent<0>>
  %t = nn.elementwise <select> (%p, %u, %d) : (tensor<1x8xi1, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %n = nn.elementwise <lt> (%x, %z) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xi1, #nn.extent<0>>
  %r = nn.elementwise <select> (%n, %t, %a) : (tensor<1x8xi1, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %r : tensor<1x8xf32, #nn.extent<0>>
}

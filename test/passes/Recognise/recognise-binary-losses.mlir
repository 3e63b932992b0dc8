// Binary cross-entropy: whole where the framework's own derivative counts, and without terms that cancel.
// RUN: accum-opt %s -accum-recognise | FileCheck %s

// As torch.nn.functional.binary_cross_entropy is exported.
// CHECK-LABEL: func.func @of_probability
func.func @of_probability(%x: tensor<1x8xf32, #nn.extent<0>>, %t: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[Y:.*]] = nn.elementwise <binary_cross_entropy> (%arg0, %arg1)
  // CHECK: return %[[Y]]
  %0 = nn.elementwise <neg> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %2 = nn.elementwise <add> (%0, %1) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <log> (%2) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %4 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %5 = nn.elementwise <sub> (%t, %4) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %6 = nn.constant {value = dense<-1.000000e+02> : tensor<f32>} : tensor<f32>
  %7 = nn.elementwise <max> (%3, %6) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %8 = nn.elementwise <mul> (%5, %7) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %9 = nn.elementwise <log> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %10 = nn.constant {value = dense<-1.000000e+02> : tensor<f32>} : tensor<f32>
  %11 = nn.elementwise <max> (%9, %10) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %12 = nn.elementwise <mul> (%t, %11) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %13 = nn.elementwise <sub> (%8, %12) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %13 : tensor<1x8xf32, #nn.extent<0>>
}

// Of a sigmoid, from its logit.
// CHECK-LABEL: func.func @of_sigmoid
func.func @of_sigmoid(%x: tensor<1x8xf32, #nn.extent<0>>, %t: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[Y:.*]] = nn.elementwise <sigmoid_cross_entropy> (%arg0, %arg1)
  // CHECK: return %[[Y]]
  %0 = nn.elementwise <sigmoid> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <neg> (%0) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %3 = nn.elementwise <add> (%1, %2) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %4 = nn.elementwise <log> (%3) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %5 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %6 = nn.elementwise <sub> (%t, %5) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %7 = nn.constant {value = dense<-1.000000e+02> : tensor<f32>} : tensor<f32>
  %8 = nn.elementwise <max> (%4, %7) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %9 = nn.elementwise <mul> (%6, %8) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %10 = nn.elementwise <log> (%0) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %11 = nn.constant {value = dense<-1.000000e+02> : tensor<f32>} : tensor<f32>
  %12 = nn.elementwise <max> (%10, %11) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %13 = nn.elementwise <mul> (%t, %12) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %14 = nn.elementwise <sub> (%9, %13) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %14 : tensor<1x8xf32, #nn.extent<0>>
}

// Logarithms that end elsewhere are not the framework's.
// CHECK-LABEL: func.func @another_end
func.func @another_end(%x: tensor<1x8xf32, #nn.extent<0>>, %t: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK-NOT: cross_entropy
  // CHECK: return
  %0 = nn.elementwise <sigmoid> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <neg> (%0) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %3 = nn.elementwise <add> (%1, %2) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %4 = nn.elementwise <log> (%3) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %5 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %6 = nn.elementwise <sub> (%t, %5) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %7 = nn.constant {value = dense<-5.0> : tensor<f32>} : tensor<f32>
  %8 = nn.elementwise <max> (%4, %7) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %9 = nn.elementwise <mul> (%6, %8) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %10 = nn.elementwise <log> (%0) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %11 = nn.constant {value = dense<-5.0> : tensor<f32>} : tensor<f32>
  %12 = nn.elementwise <max> (%10, %11) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %13 = nn.elementwise <mul> (%t, %12) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %14 = nn.elementwise <sub> (%9, %13) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %14 : tensor<1x8xf32, #nn.extent<0>>
}

// Two targets.
// CHECK-LABEL: func.func @another_target
func.func @another_target(%x: tensor<1x8xf32, #nn.extent<0>>, %t: tensor<1x8xf32, #nn.extent<0>>, %u: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK-NOT: cross_entropy
  // CHECK: return
  %0 = nn.elementwise <sigmoid> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <neg> (%0) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %3 = nn.elementwise <add> (%1, %2) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %4 = nn.elementwise <log> (%3) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %5 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %6 = nn.elementwise <sub> (%u, %5) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %7 = nn.constant {value = dense<-1.000000e+02> : tensor<f32>} : tensor<f32>
  %8 = nn.elementwise <max> (%4, %7) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %9 = nn.elementwise <mul> (%6, %8) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %10 = nn.elementwise <log> (%0) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %11 = nn.constant {value = dense<-1.000000e+02> : tensor<f32>} : tensor<f32>
  %12 = nn.elementwise <max> (%10, %11) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %13 = nn.elementwise <mul> (%t, %12) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %14 = nn.elementwise <sub> (%9, %13) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %14 : tensor<1x8xf32, #nn.extent<0>>
}

// (1 - t) * x - log_sigmoid(x): t * softplus(-x) + (1 - t) * softplus(x).
// CHECK-LABEL: func.func @of_logits
func.func @of_logits(%x: tensor<1x8xf32, #nn.extent<0>>, %t: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[R:.*]] = nn.elementwise <sub> (%{{.*}}, %arg1)
  // CHECK: %[[N:.*]] = nn.elementwise <neg> (%arg0)
  // CHECK: %[[S:.*]] = nn.elementwise <softplus> (%[[N]])
  // CHECK: %[[O:.*]] = nn.elementwise <softplus> (%arg0)
  // CHECK: %[[A:.*]] = nn.elementwise <mul> (%[[S]], %arg1)
  // CHECK: %[[B:.*]] = nn.elementwise <mul> (%[[O]], %[[R]])
  // CHECK: %[[Y:.*]] = nn.elementwise <add> (%[[A]], %[[B]])
  // CHECK: return %[[Y]]
  %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <sub> (%0, %t) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <mul> (%1, %x) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <sigmoid> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %4 = nn.elementwise <log> (%3) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %5 = nn.elementwise <sub> (%2, %4) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %5 : tensor<1x8xf32, #nn.extent<0>>
}

// softplus(x) - t * x: (1 - t) * softplus(x) + t * softplus(-x).
// CHECK-LABEL: func.func @from_softplus
func.func @from_softplus(%x: tensor<1x8xf32, #nn.extent<0>>, %t: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[S:.*]] = nn.elementwise <softplus> (%arg0)
  // CHECK: %[[O:.*]] = nn.elementwise <softplus>
  // CHECK: %[[T:.*]] = nn.elementwise <mul> (%{{.*}}, %arg1)
  // CHECK: %[[W:.*]] = nn.elementwise <sub> (%{{.*}}, %[[T]])
  // CHECK: %[[A:.*]] = nn.elementwise <mul> (%[[S]], %[[W]])
  // CHECK: %[[B:.*]] = nn.elementwise <mul> (%[[O]], %arg1)
  // CHECK: nn.elementwise <add> (%[[A]], %[[B]])
  %0 = nn.elementwise <softplus> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <mul> (%t, %x) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <sub> (%0, %1) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %2 : tensor<1x8xf32, #nn.extent<0>>
}

// softplus(x) + t * x: nothing cancels.
// CHECK-LABEL: func.func @same_sign
func.func @same_sign(%x: tensor<1x8xf32, #nn.extent<0>>, %t: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: nn.elementwise <softplus>
  // CHECK-NOT: softplus
  // CHECK: return
  %0 = nn.elementwise <softplus> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <mul> (%t, %x) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <add> (%0, %1) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %2 : tensor<1x8xf32, #nn.extent<0>>
}

// The factor of x is x itself.
// CHECK-LABEL: func.func @square
func.func @square(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: nn.elementwise <softplus>
  // CHECK-NOT: softplus
  // CHECK: return
  %0 = nn.elementwise <softplus> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <mul> (%x, %x) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <sub> (%0, %1) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %2 : tensor<1x8xf32, #nn.extent<0>>
}

// A target that is a number, as of a discriminator.
// CHECK-LABEL: func.func @of_number
func.func @of_number(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[T:.*]] = nn.constant {value = dense<2.500000e-01>
  // CHECK: nn.elementwise <sigmoid_cross_entropy> (%arg0, %[[T]])
  %ct = nn.constant {value = dense<0.25> : tensor<f32>} : tensor<f32>
  %cm = nn.constant {value = dense<-0.75> : tensor<f32>} : tensor<f32>
  %c1 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %ce = nn.constant {value = dense<-1.000000e+02> : tensor<f32>} : tensor<f32>
  %p = nn.elementwise <sigmoid> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %n = nn.elementwise <neg> (%p) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %q = nn.elementwise <add> (%n, %c1) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %lq = nn.elementwise <log> (%q) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %mq = nn.elementwise <max> (%lq, %ce) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %l = nn.elementwise <mul> (%cm, %mq) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %lp = nn.elementwise <log> (%p) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %mp = nn.elementwise <max> (%lp, %ce) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %r = nn.elementwise <mul> (%ct, %mp) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %y = nn.elementwise <sub> (%l, %r) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %y : tensor<1x8xf32, #nn.extent<0>>
}

// Logarithms and exponentials that have no digits left as they are written.
// RUN: accum-opt %s -accum-recognise | FileCheck %s

// As torch.nn.functional.logsigmoid is exported.
// CHECK-LABEL: func.func @log_sigmoid
func.func @log_sigmoid(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[N:.*]] = nn.elementwise <neg> (%arg0)
  // CHECK: %[[S:.*]] = nn.elementwise <softplus> (%[[N]])
  // CHECK: %[[Y:.*]] = nn.elementwise <neg> (%[[S]])
  // CHECK: return %[[Y]]
  %0 = nn.elementwise <sigmoid> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <log> (%0) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %1 : tensor<1x8xf32, #nn.extent<0>>
}

// log(1 - sigmoid(x)).
// CHECK-LABEL: func.func @log_of_complement
func.func @log_of_complement(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[S:.*]] = nn.elementwise <softplus> (%arg0)
  // CHECK: %[[Y:.*]] = nn.elementwise <neg> (%[[S]])
  // CHECK: return %[[Y]]
  %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <sigmoid> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <sub> (%0, %1) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <log> (%2) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %3 : tensor<1x8xf32, #nn.extent<0>>
}

// log1p(-sigmoid(x)), decomposed.
// CHECK-LABEL: func.func @log1p_of_complement
func.func @log1p_of_complement(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[S:.*]] = nn.elementwise <softplus> (%arg0)
  // CHECK: %[[Y:.*]] = nn.elementwise <neg> (%[[S]])
  // CHECK: return %[[Y]]
  %0 = nn.elementwise <sigmoid> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <neg> (%0) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %3 = nn.elementwise <add> (%1, %2) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %4 = nn.elementwise <log> (%3) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %4 : tensor<1x8xf32, #nn.extent<0>>
}

// 1 - sigmoid(x), without a logarithm.
// CHECK-LABEL: func.func @complement
func.func @complement(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[N:.*]] = nn.elementwise <neg> (%arg0)
  // CHECK: %[[Y:.*]] = nn.elementwise <sigmoid> (%[[N]])
  // CHECK: return %[[Y]]
  %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <sigmoid> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <sub> (%0, %1) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %2 : tensor<1x8xf32, #nn.extent<0>>
}

// log(1 + x).
// CHECK-LABEL: func.func @log1p
func.func @log1p(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[Y:.*]] = nn.elementwise <log1p> (%arg0)
  // CHECK: return %[[Y]]
  %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <add> (%0, %x) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <log> (%1) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %2 : tensor<1x8xf32, #nn.extent<0>>
}

// log(1 - x).
// CHECK-LABEL: func.func @log_one_less
func.func @log_one_less(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[N:.*]] = nn.elementwise <neg> (%arg0)
  // CHECK: nn.elementwise <log1p> (%[[N]])
  %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <sub> (%0, %x) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <log> (%1) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %2 : tensor<1x8xf32, #nn.extent<0>>
}

// No function has log(2 + x).
// CHECK-LABEL: func.func @log_two_plus
func.func @log_two_plus(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK-NOT: log1p
  // CHECK: nn.elementwise <log>
  %0 = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <add> (%0, %x) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <log> (%1) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %2 : tensor<1x8xf32, #nn.extent<0>>
}

// log(1 + exp(x)).
// CHECK-LABEL: func.func @softplus
func.func @softplus(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: %[[Y:.*]] = nn.elementwise <softplus> (%arg0)
  // CHECK-NEXT: return %[[Y]]
  %0 = nn.elementwise <exp> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %2 = nn.elementwise <add> (%0, %1) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <log> (%2) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %3 : tensor<1x8xf32, #nn.extent<0>>
}

// exp(x) - 1.
// CHECK-LABEL: func.func @expm1
func.func @expm1(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[Y:.*]] = nn.elementwise <expm1> (%arg0)
  // CHECK: return %[[Y]]
  %0 = nn.elementwise <exp> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %2 = nn.elementwise <sub> (%0, %1) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  return %2 : tensor<1x8xf32, #nn.extent<0>>
}

// 1 - exp(x).
// CHECK-LABEL: func.func @one_less_exp
func.func @one_less_exp(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[E:.*]] = nn.elementwise <expm1> (%arg0)
  // CHECK: %[[Y:.*]] = nn.elementwise <neg> (%[[E]])
  // CHECK: return %[[Y]]
  %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <exp> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <sub> (%0, %1) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %2 : tensor<1x8xf32, #nn.extent<0>>
}

// log(exp(a) + exp(b)).
// CHECK-LABEL: func.func @logaddexp
func.func @logaddexp(%x: tensor<1x8xf32, #nn.extent<0>>, %y: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[D:.*]] = nn.elementwise <sub> (%arg0, %arg1)
  // CHECK: %[[A:.*]] = nn.elementwise <abs> (%[[D]])
  // CHECK: %[[N:.*]] = nn.elementwise <neg> (%[[A]])
  // CHECK: %[[R:.*]] = nn.elementwise <softplus> (%[[N]])
  // CHECK: %[[M:.*]] = nn.elementwise <max> (%arg0, %arg1)
  // CHECK: nn.elementwise <add> (%[[M]], %[[R]])
  %0 = nn.elementwise <exp> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <exp> (%y) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <add> (%0, %1) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <log> (%2) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %3 : tensor<1x8xf32, #nn.extent<0>>
}

// The same of powers of two: exponents times log(2).
// CHECK-LABEL: func.func @logaddexp2
func.func @logaddexp2(%x: tensor<1x8xf32, #nn.extent<0>>, %y: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[L:.*]] = nn.constant {value = dense<0.693147182>
  // CHECK: %[[A:.*]] = nn.elementwise <mul> (%arg0, %[[L]])
  // CHECK: nn.elementwise <softplus>
  // CHECK: nn.elementwise <max> (%[[A]]
  %0 = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <pow> (%0, %x) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %3 = nn.elementwise <pow> (%2, %y) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %4 = nn.elementwise <add> (%1, %3) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %5 = nn.elementwise <log> (%4) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %5 : tensor<1x8xf32, #nn.extent<0>>
}

// PyTorch's softplus, which is linear beyond 20.
// CHECK-LABEL: func.func @threshold
func.func @threshold(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: nn.elementwise <softplus>
  // CHECK-NOT: <select>
  // CHECK: return
  %t = nn.constant {value = dense<20.0> : tensor<f32>} : tensor<f32>
  %g = nn.elementwise <gt> (%x, %t) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xi1, #nn.extent<0>>
  %s = nn.elementwise <softplus> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %y = nn.elementwise <select> (%g, %x, %s) : (tensor<1x8xi1, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %y : tensor<1x8xf32, #nn.extent<0>>
}

// The same of 2 x, divided by 2.
// CHECK-LABEL: func.func @threshold_of_product
func.func @threshold_of_product(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: nn.elementwise <softplus>
  // CHECK-NOT: <select>
  // CHECK: return
  %b = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %z = nn.elementwise <mul> (%x, %b) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %t = nn.constant {value = dense<20.0> : tensor<f32>} : tensor<f32>
  %g = nn.elementwise <gt> (%z, %t) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xi1, #nn.extent<0>>
  %s = nn.elementwise <softplus> (%z) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %d = nn.elementwise <div> (%s, %b) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %y = nn.elementwise <select> (%g, %x, %d) : (tensor<1x8xi1, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %y : tensor<1x8xf32, #nn.extent<0>>
}

// Linear beyond 3 is another function.
// CHECK-LABEL: func.func @low_threshold
func.func @low_threshold(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: nn.elementwise <select>
  %t = nn.constant {value = dense<3.0> : tensor<f32>} : tensor<f32>
  %g = nn.elementwise <gt> (%x, %t) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xi1, #nn.extent<0>>
  %s = nn.elementwise <softplus> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %y = nn.elementwise <select> (%g, %x, %s) : (tensor<1x8xi1, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %y : tensor<1x8xf32, #nn.extent<0>>
}

// exp(x) / (1 + exp(x)).
// CHECK-LABEL: func.func @quotient_of_exponentials
func.func @quotient_of_exponentials(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[Y:.*]] = nn.elementwise <sigmoid> (%arg0)
  // CHECK-NEXT: return %[[Y]]
  %c = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %0 = nn.elementwise <exp> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <add> (%c, %0) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <div> (%0, %1) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %2 : tensor<1x8xf32, #nn.extent<0>>
}

// 1 / (1 + exp(-x)).
// CHECK-LABEL: func.func @written_out_sigmoid
func.func @written_out_sigmoid(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[Y:.*]] = nn.elementwise <sigmoid> (%arg0)
  // CHECK-NEXT: return %[[Y]]
  %c = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %0 = nn.elementwise <neg> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <exp> (%0) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <add> (%1, %c) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <div> (%c, %2) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %3 : tensor<1x8xf32, #nn.extent<0>>
}

// exp(2x) / (1 + exp(x)) is none.
// CHECK-LABEL: func.func @another_quotient
func.func @another_quotient(%x: tensor<1x8xf32, #nn.extent<0>>, %z: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK-NOT: sigmoid
  // CHECK: nn.elementwise <div>
  %c = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %0 = nn.elementwise <exp> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <exp> (%z) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <add> (%1, %c) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <div> (%0, %2) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %3 : tensor<1x8xf32, #nn.extent<0>>
}

// log(p / (1 - p)) of a sigmoid between 0.25 and 0.75, whose logits are -log(3) and log(3).
// CHECK-LABEL: func.func @logit
func.func @logit(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK-DAG: %[[LOW:.*]] = nn.constant {{.*}}dense<-1.09861231> 
  // CHECK-DAG: %[[HIGH:.*]] = nn.constant {{.*}}dense<1.09861231>
  // CHECK: %[[A:.*]] = nn.elementwise <max> (%arg0, %[[LOW]])
  // CHECK: %[[Y:.*]] = nn.elementwise <min> (%[[A]], %[[HIGH]])
  // CHECK: return %[[Y]]
  %c = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %low = nn.constant {value = dense<0.25> : tensor<f32>} : tensor<f32>
  %high = nn.constant {value = dense<0.75> : tensor<f32>} : tensor<f32>
  %0 = nn.elementwise <sigmoid> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <max> (%0, %low) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <min> (%1, %high) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <sub> (%c, %2) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %4 = nn.elementwise <div> (%2, %3) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %5 = nn.elementwise <log> (%4) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %5 : tensor<1x8xf32, #nn.extent<0>>
}

// The same bounds as exporters write them.
// CHECK-LABEL: func.func @chosen_bounds
func.func @chosen_bounds(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[A:.*]] = nn.elementwise <min> (%arg0,
  // CHECK: %[[Y:.*]] = nn.elementwise <max> (%[[A]],
  // CHECK: return %[[Y]]
  %c = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %low = nn.constant {value = dense<0.25> : tensor<f32>} : tensor<f32>
  %high = nn.constant {value = dense<0.75> : tensor<f32>} : tensor<f32>
  %0 = nn.elementwise <sigmoid> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <gt> (%high, %0) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xi1, #nn.extent<0>>
  %2 = nn.elementwise <select> (%1, %0, %high) : (tensor<1x8xi1, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <lt> (%2, %low) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xi1, #nn.extent<0>>
  %4 = nn.elementwise <select> (%3, %low, %2) : (tensor<1x8xi1, #nn.extent<0>>, tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %5 = nn.elementwise <sub> (%c, %4) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %6 = nn.elementwise <div> (%4, %5) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %7 = nn.elementwise <log> (%6) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %7 : tensor<1x8xf32, #nn.extent<0>>
}

// The complementary error function, which 1 - erf(x) has no digits of in its tail.
// RUN: accum-opt %s -accum-recognise | FileCheck %s

// As torch.erfc is exported.
// CHECK-LABEL: func.func @erfc
func.func @erfc(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[Y:.*]] = nn.elementwise <erfc> (%arg0)
  // CHECK: return %[[Y]]
  %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <erf> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <sub> (%0, %1) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %2 : tensor<1x8xf32, #nn.extent<0>>
}

// Half of 1 + erf(x): torch.special.ndtr. Its other tail is the one that loses digits.
// CHECK-LABEL: func.func @ndtr
func.func @ndtr(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[N:.*]] = nn.elementwise <neg> (%arg0)
  // CHECK: %[[E:.*]] = nn.elementwise <erfc> (%[[N]])
  // CHECK: nn.elementwise <mul> (%[[E]]
  %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %h = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <erf> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <add> (%1, %0) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <mul> (%2, %h) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  return %3 : tensor<1x8xf32, #nn.extent<0>>
}

// A GELU stays one.
// CHECK-LABEL: func.func @gelu
func.func @gelu(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[Y:.*]] = nn.elementwise <gelu> (%arg0)
  // CHECK: return %[[Y]]
  %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %h = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %s = nn.constant {value = dense<0.707106769> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <mul> (%x, %s) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <erf> (%1) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <add> (%2, %0) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %4 = nn.elementwise <mul> (%x, %3) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %5 = nn.elementwise <mul> (%4, %h) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  return %5 : tensor<1x8xf32, #nn.extent<0>>
}

// exp(x^2) * (1 - erf(x)), x being scaled: torch.special.erfcx inside log_ndtr.
// CHECK-LABEL: func.func @erfcx
func.func @erfcx(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[T:.*]] = nn.elementwise <mul>
  // CHECK: %[[N:.*]] = nn.elementwise <neg> (%[[T]])
  // CHECK-NOT: <exp>
  // CHECK: %[[Y:.*]] = nn.elementwise <erfcx> (%[[N]])
  // CHECK: return %[[Y]]
  %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %s = nn.constant {value = dense<0.707106769> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <mul> (%x, %s) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <neg> (%1) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <mul> (%2, %2) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %4 = nn.elementwise <exp> (%3) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %5 = nn.elementwise <erf> (%2) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %6 = nn.elementwise <sub> (%0, %5) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %7 = nn.elementwise <mul> (%4, %6) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %7 : tensor<1x8xf32, #nn.extent<0>>
}

// exp(x) * erfc(x) is another function.
// CHECK-LABEL: func.func @exp_times_erfc
func.func @exp_times_erfc(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK-NOT: erfcx
  // CHECK: return
  %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <exp> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <erf> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <sub> (%0, %2) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %4 = nn.elementwise <mul> (%1, %3) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %4 : tensor<1x8xf32, #nn.extent<0>>
}

// log(1 - erf(x)).
// CHECK-LABEL: func.func @log_erfc
func.func @log_erfc(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[Y:.*]] = nn.elementwise <log_erfc> (%arg0)
  // CHECK: return %[[Y]]
  %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <erf> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <sub> (%0, %1) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <log> (%2) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %3 : tensor<1x8xf32, #nn.extent<0>>
}

// log((1 + erf(x)) / 2), the logarithm of a normal distribution's integral.
// CHECK-LABEL: func.func @log_normal
func.func @log_normal(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK-DAG: %[[H:.*]] = nn.constant {value = dense<-0.693147182>
  // CHECK-DAG: %[[N:.*]] = nn.elementwise <neg> (%arg0)
  // CHECK: %[[L:.*]] = nn.elementwise <log_erfc> (%[[N]])
  // CHECK: nn.elementwise <add> (%[[L]], %{{.*}})
  %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %h = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <erf> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <add> (%0, %1) : (tensor<f32>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <div> (%2, %h) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %4 = nn.elementwise <log> (%3) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %4 : tensor<1x8xf32, #nn.extent<0>>
}

// What the verifiers refuse.
// RUN: accum-opt %s -split-input-file -verify-diagnostics

func.func @letters(%a: tensor<4x8xf32>, %b: tensor<9x3xf32>) {
  // expected-error @+2 {{letters do not fit the operands' shapes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nn.contract "mk,kn->mn" (%a, %b) : (tensor<4x8xf32>, tensor<9x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @slice(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{reads outside axis 1}}
  %0 = nn.slice %a at [0, 6] by [1, 1] : tensor<4x8xf32> -> tensor<4x3xf32>
  return
}

// -----

// expected-error @+1 {{outer = 3 does not divide the slab's extent 4}}
func.func private @outer(tensor<4x8xf32, #nn.batched<0, outer = 3>>)

// -----

func.func @heads(%q: tensor<1x3x9x8xf32>, %k: tensor<1x2x7x8xf32>) {
  // expected-error @+2 {{has query heads that are no multiple of its key heads}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %lse = nn.attention(%q, %k, %k) <infinite> {scale = 1.0 : f64} : (tensor<1x3x9x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7x8xf32>) -> (tensor<1x3x9x8xf32>, tensor<1x3x9xf32>)
  return
}

// -----

func.func @keys(%q: tensor<1x2x9x8xf32>, %k: tensor<1x2x7x8xf32>, %v: tensor<1x2x6x8xf32>) {
  // expected-error @+2 {{has queries, keys and values of shapes that do not fit}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %lse = nn.attention(%q, %k, %v) <infinite> {scale = 1.0 : f64} : (tensor<1x2x9x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x6x8xf32>) -> (tensor<1x2x9x8xf32>, tensor<1x2x9xf32>)
  return
}

// -----

func.func @masks(%q: tensor<1x2x9x8xf32>, %m: tensor<1x1x9x7xi1>) {
  // expected-error @+1 {{has a mask that does not fit its scores}}
  %y, %lse = nn.attention(%q, %q, %q mask %m) <excluded> {scale = 1.0 : f64} : (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x1x9x7xi1>) -> (tensor<1x2x9x8xf32>, tensor<1x2x9xf32>)
  return
}

// -----

func.func @numbers(%q: tensor<1x2x9x8xf32>, %n: tensor<1x1x1x9xi64>) {
  // expected-error @+1 {{needs a mask of i1 or of the scores' type}}
  %z, %s = nn.attention(%q, %q, %q mask %n) <excluded> {scale = 1.0 : f64} : (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x1x1x9xi64>) -> (tensor<1x2x9x8xf32>, tensor<1x2x9xf32>)
  return
}

// -----

func.func @statistics(%q: tensor<1x2x9x8xf32>, %s: tensor<1x2x9x1xf32>) {
  // expected-error @+1 {{has an output, its cotangent or statistics of another shape than attention gives}}
  %d:3 = nn.attention_bwd(%q, %q, %q, %q, %s, %q) <infinite> {scale = 1.0 : f64} : (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x1xf32>, tensor<1x2x9x8xf32>) -> (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>)
  return
}

// -----

func.func @reshape(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{turns 32 elements into 30}}
  %0 = nn.reshape %a : tensor<4x8xf32> -> tensor<5x6xf32>
  return
}

// -----

func.func @reshape_of_samples(%a: tensor<4x8xf32, #nn.batched<0>>) {
  // expected-error @+1 {{turns 32 elements into 64}}
  %0 = nn.reshape %a : tensor<4x8xf32, #nn.batched<0>> -> tensor<64xf32, #nn.batched<0>>
  return
}

// -----

func.func @reshape_and_cast(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{changes the element type}}
  %0 = nn.reshape %a : tensor<4x8xf32> -> tensor<32xf64>
  return
}

// -----

func.func @broadcast(%a: tensor<4x1xf32>) {
  // expected-error @+1 {{expands axis 0 of extent 4}}
  %0 = nn.broadcast %a : tensor<4x1xf32> -> tensor<2x8x3xf32>
  return
}

// -----

func.func @pad(%a: tensor<4xf32>, %zero: tensor<f32>) {
  // expected-error @+1 {{does not fit into axis 0}}
  %0 = nn.pad %a with %zero low [3] : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  return
}

// -----

func.func @pad_type(%a: tensor<4xf32>, %zero: tensor<i64>) {
  // expected-error @+1 {{pads with something that is no scalar of the input's element type}}
  %0 = nn.pad %a with %zero low [1] : (tensor<4xf32>, tensor<i64>) -> tensor<6xf32>
  return
}

// -----

func.func @unranked(%a: tensor<*xf32>) {
  // expected-error @+1 {{invalid kind of type specified}}
  %0 = nn.cast %a : tensor<*xf32> -> tensor<*xf64>
  return
}

// -----

func.func @open(%a: tensor<?x4xf32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor}}
  %0 = nn.cast %a : tensor<?x4xf32> -> tensor<?x4xf64>
  return
}

// -----

func.func @iota() {
  // expected-error @+1 {{has no axis 1 in 'tensor<3xi64>'}}
  %0 = nn.iota 1 : tensor<3xi64>
  return
}

// -----

func.func @root(%a: tensor<4xi64>) {
  // expected-error @+1 {{takes sqrt of 'i64', expected floats}}
  %0 = nn.elementwise <sqrt> (%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @conjunction(%a: tensor<4xi64>) {
  // expected-error @+1 {{takes logical_and of 'i64', expected i1}}
  %0 = nn.elementwise <logical_and> (%a, %a) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
  return
}

// -----

func.func @slice_type(%a: tensor<4xf32>) {
  // expected-error @+1 {{changes the element type}}
  %0 = nn.slice %a at [1] by [1] : tensor<4xf32> -> tensor<2xi64>
  return
}

// -----

func.func @concat(%a: tensor<4x2xf32>, %b: tensor<3x2xf32>) {
  // expected-error @+2 {{operands differ along axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nn.concat(%a, %b) {axis = 1 : i64} : (tensor<4x2xf32>, tensor<3x2xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @concat_types(%a: tensor<4xf32>, %b: tensor<4xi64>) {
  // expected-error @+2 {{operands have different element types}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nn.concat(%a, %b) {axis = 0 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<8xf32>
  return
}

// -----

func.func @contract_types(%a: tensor<4x8xf32>, %b: tensor<8x3xf64>) {
  // expected-error @+2 {{operands have different element types}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nn.contract "mk,kn->mn" (%a, %b) : (tensor<4x8xf32>, tensor<8x3xf64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @diagonal(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) {
  // expected-error @+2 {{letter 'm' stands twice in the result}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nn.contract "mk,kn->mmn" (%a, %b) : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x4x3xf32>
  return
}

// -----

func.func @softmax(%a: tensor<4x8xf32>) {
  // expected-error @+2 {{axis 2 is no axis of floats of the input}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nn.softmax(%a) {axis = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @scale(%a: tensor<4x8xf32>, %w: tensor<4xf32>) {
  // expected-error @+2 {{scale or bias are not of the normalised axes' type}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %rstd = nn.rms_norm(%a scale %w) {axis = 1 : i64, eps = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @labels(%a: tensor<4x8xf32>, %l: tensor<4xf32>) {
  // expected-error @+2 {{logits are not floats, or labels not integers}}
  // expected-error @+1 {{failed to infer returned types}}
  %loss, %lse = nn.cross_entropy(%a, %l) : (tensor<4x8xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @loss_rows(%a: tensor<4x8xf32>, %l: tensor<4xi64>, %s: tensor<4xf32>, %d: tensor<3xf32>) {
  // expected-error @+2 {{labels, lse and dloss have one number for each row of logits}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nn.cross_entropy_grad(%a, %l, %s, %d) : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>, tensor<3xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @arg_sum(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{finds the largest or the smallest, not the sum}}
  %0 = nn.arg_reduce <sum> (%a) {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @arg_max(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{gives 'tensor<4xi64>', not 'tensor<8xi64>'}}
  %0 = nn.arg_reduce <max> (%a) {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<8xi64>
  return
}

// -----

func.func @running(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{has no axis 2 in 'tensor<4x8xf32>'}}
  %0 = nn.cumsum(%a) {axis = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @running_shape(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{makes 'tensor<8x4xf32>' of 'tensor<4x8xf32>', which it only passes on}}
  %0 = nn.cumsum(%a) {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @running_log(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{takes the logarithm of a running sum of floats that counts each element itself}}
  %0 = nn.cumsum(%a) {axis = 1 : i64, exclusive, log} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @top(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{takes 9 of 8}}
  %v, %i = nn.top_k(%a) {axis = 1 : i64, k = 9 : i64} : (tensor<4x8xf32>) -> (tensor<4x9xf32>, tensor<4x9xi64>)
  return
}

// -----

func.func @top_indices(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{gives values of the input's type, and i64 indices, of its shape with 2 along axis 1}}
  %v, %i = nn.top_k(%a) {axis = 1 : i64, k = 2 : i64} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return
}

// -----

func.func @scatter(%i: tensor<3xi64>, %u: tensor<3x5xf32>) {
  // expected-error @+1 {{adds updates of 'tensor<3x4xf32>', not 'tensor<3x5xf32>'}}
  %0 = nn.scatter_add(%i, %u) {axis = 0 : i64} : (tensor<3xi64>, tensor<3x5xf32>) -> tensor<7x4xf32>
  return
}

// -----

func.func @scatter_at(%i: tensor<3xf32>, %u: tensor<3x4xf32>) {
  // expected-error @+1 {{indices are not integers}}
  %0 = nn.scatter_add(%i, %u) {axis = 0 : i64} : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<7x4xf32>
  return
}

// -----

func.func @gather_blocks(%a: tensor<2x7xf32>, %i: tensor<3x4xi64>) {
  // expected-error @+2 {{the first 1 axes of input and indices differ}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nn.gather(%a, %i) {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<2x7xf32>, tensor<3x4xi64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @elements(%a: tensor<4x8xf32>, %i: tensor<5x2xi64>) {
  // expected-error @+1 {{indices leave 'tensor<4x8xf32>' along axis 0}}
  %0 = nn.gather_elements(%a, %i) {axis = 1 : i64} : (tensor<4x8xf32>, tensor<5x2xi64>) -> tensor<5x2xf32>
  return
}

// -----

func.func @added_elements(%i: tensor<4x2xi64>, %u: tensor<4x3xf32>) {
  // expected-error @+1 {{picks 'tensor<4x2xf32>', not 'tensor<4x3xf32>'}}
  %0 = nn.scatter_elements_add(%i, %u) {axis = 1 : i64} : (tensor<4x2xi64>, tensor<4x3xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @dropout(%a: tensor<4xf32>) {
  // expected-error @+1 {{drops a share of 1.500000e+00, expected one in [0, 1]}}
  %0 = nn.dropout(%a) {ratio = 1.5 : f64, key = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @random(%a: tensor<4xf32>) {
  // expected-error @+1 {{draws floats, not 'i64'}}
  %0 = nn.random <uniform> {key = 1 : i64} : tensor<4xi64>
  return
}

// -----

func.func @random(%a: tensor<4xf32>) {
  // expected-error @+1 {{has no ratio}}
  %0 = nn.random <mask> {key = 1 : i64} : tensor<4xf32>
  return
}

// -----

func.func @random(%a: tensor<4xf32>) {
  // expected-error @+1 {{has a ratio, which only a mask has}}
  %0 = nn.random <normal> {key = 1 : i64, ratio = 0.5 : f64} : tensor<4xf32>
  return
}

// -----

func.func @random(%a: tensor<4xf32>) {
  // expected-error @+1 {{drops a share of 1.000000e+00, expected one in [0, 1)}}
  %0 = nn.random <mask> {key = 1 : i64, ratio = 1.0 : f64} : tensor<4xf32>
  return
}

// -----

func.func @random(%a: tensor<4xf32>) {
  // expected-error @+1 {{has no axis 1 in 'tensor<4xf32>'}}
  %0 = nn.random <uniform> {key = 1 : i64, dim = 1 : i64} : tensor<4xf32>
  return
}

// -----

func.func @random(%a: tensor<4xf32>) {
  // expected-error @+1 {{draws 'tensor<5xf32>' like 'tensor<4xf32>'}}
  %0 = nn.random <uniform> like %a : tensor<4xf32> {key = 1 : i64} : tensor<5xf32>
  return
}

// -----

func.func @mask(%a: tensor<6x8xf32>, %v: tensor<4xi1>) {
  // expected-error @+1 {{cannot cut 6 rows into 1 blocks of 4 samples}}
  %0 = nn.mask_rows(%a, %v) {dim = 0 : i64} : (tensor<6x8xf32>, tensor<4xi1>) -> tensor<6x8xf32>
  return
}

// -----

func.func @batch_size() {
  // expected-error @+1 {{is tensor<i64>, not 'tensor<f32>'}}
  %0 = nn.batch_size : tensor<f32>
  return
}

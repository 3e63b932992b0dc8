// Buffers lie inside their spaces, matrices inside their buffers, and only loops accumulate.
// RUN: accum-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{has the optimizer `adamw2`, which is none of adamw, adam, sgd}}
device.program @other m 2 devices 1 state 256 bytes scratch 0 bytes attributes {optimizer = "adamw2"} step {
} eval {
}

// -----

device.program @outside m 2 devices 1 state 256 bytes scratch 0 bytes step {
  // expected-error@+1 {{ends outside the state of 256 bytes}}
  %0 = device.buffer state at 256 : tensor<f32> "w"
} eval {
}

// -----

device.program @huge m 2 devices 1 state 256 bytes scratch 0 bytes step {
  // expected-error@+1 {{ends outside the state of 256 bytes}}
  %0 = device.buffer state at 9223372036854775807 : tensor<f32> "w"
} eval {
}

// -----

device.program @unaligned m 2 devices 1 state 0 bytes scratch 256 bytes step {
  // expected-error@+1 {{does not start on a multiple of 64 bytes}}
  %0 = device.buffer scratch at 32 : tensor<f32> "w"
} eval {
}

// -----

device.program @loose m 2 devices 1 state 0 bytes scratch 0 bytes attributes {inputs = [{name = "x"}]} step {
  // expected-error@+1 {{is an input: bound inside device.for_micro only}}
  %0 = device.buffer input at 0 : tensor<2xf32> "x"
} eval {
}

// -----

device.program @reach m 2 devices 1 state 0 bytes scratch 256 bytes step {
  %0 = device.buffer scratch at 0 : tensor<2x3xf32> "a"
  %1 = device.buffer scratch at 64 : tensor<3x2xf32> "b"
  %2 = device.buffer scratch at 128 : tensor<2x2xf32> "c"
  // expected-error@+1 {{reaches element 6 of b, which has 6}}
  device.gemm 0 @mm write %2 = %0 * %1 sizes [2, 2, 3] strides a [3, 1] b [1, 4] c 2
} eval {
}

// -----

device.program @biased m 2 devices 1 state 0 bytes scratch 256 bytes step {
  %0 = device.buffer scratch at 0 : tensor<2x3xf32> "a"
  %1 = device.buffer scratch at 64 : tensor<3x4xf32> "b"
  %2 = device.buffer scratch at 128 : tensor<2x4xf32> "c"
  %3 = device.buffer scratch at 192 : tensor<3xf32> "bias"
  // expected-error@+1 {{adds a bias to one product that it writes, with an element of its type for each column}}
  device.gemm 0 @mm write %2 = %0 * %1 bias %3 sizes [2, 4, 3] strides a [3, 1] b [4, 1] c 4
} eval {
}

// -----

device.program @strided m 2 devices 1 state 0 bytes scratch 256 bytes step {
  %0 = device.buffer scratch at 0 : tensor<2x6xf32> "a"
  %1 = device.buffer scratch at 64 : tensor<3x2xf32> "b"
  %2 = device.buffer scratch at 128 : tensor<2x2xf32> "c"
  // expected-error@+1 {{needs a unit stride in a}}
  device.gemm 0 @mm write %2 = %0 * %1 sizes [2, 2, 3] strides a [6, 2] b [2, 1] c 2
} eval {
}

// -----

device.program @once m 2 devices 1 state 0 bytes scratch 256 bytes step {
  %0 = device.buffer scratch at 0 : tensor<2xf32> "a"
  // expected-error@+1 {{accumulates outside device.for_micro}}
  device.launch 0 @sum[0](%0) accumulate
} eval {
}

// -----

func.func private @k(%x: tensor<f32>) -> tensor<f32> attributes {accum.kernel = 3 : i64}
device.program @number m 2 devices 1 state 0 bytes scratch 256 bytes step {
  %0 = device.buffer scratch at 0 : tensor<f32> "a"
  // expected-error@+1 {{calls kernel 0, but @k has another number}}
  device.launch 0 @k[0](%0, %0)
} eval {
}

// -----

device.program @eval m 2 devices 1 state 0 bytes scratch 256 bytes step {
} eval {
  // expected-error@+1 {{reads hyper-parameters, which eval does not have}}
  %0 = device.buffer hyper at 0 : tensor<8xf64> "hyper"
}

// -----

device.program @features m 2 devices 1 state 0 bytes scratch 4096 bytes step {
  %0 = device.buffer scratch at 0 : tensor<2x3x8xf32> "qkv"
  %1 = device.buffer scratch at 256 : tensor<2x3x8xf32> "y"
  %2 = device.buffer scratch at 512 : tensor<2x2x3xf32> "lse"
  // expected-error@+1 {{needs a unit stride along the features of k}}
  device.attention 0 @attention(%0, %0, %0, %1, %2) sizes [2, 2, 2, 3, 3, 4, 4] offsets [0, 0, 0, 0, 0] strides [24, 4, 8, 1, 24, 1, 8, 2, 24, 4, 8, 1, 24, 4, 8, 1, 6, 3, 1, 0] scale 1.0 infinite
} eval {
}

// -----

device.program @beyond m 2 devices 1 state 0 bytes scratch 4096 bytes step {
  %0 = device.buffer scratch at 0 : tensor<2x3x8xf32> "qkv"
  %1 = device.buffer scratch at 256 : tensor<2x3x8xf32> "y"
  %2 = device.buffer scratch at 512 : tensor<2x2x3xf32> "lse"
  // expected-error@+1 {{reaches element 48 of v, which has 48}}
  device.attention 0 @attention(%0, %0, %0, %1, %2) sizes [2, 2, 2, 3, 3, 4, 4] offsets [0, 0, 1, 0, 0] strides [24, 4, 8, 1, 24, 4, 8, 1, 24, 4, 8, 1, 24, 4, 8, 1, 6, 3, 1, 0] scale 1.0 infinite
} eval {
}

// -----

device.program @operands m 2 devices 1 state 0 bytes scratch 4096 bytes step {
  %0 = device.buffer scratch at 0 : tensor<2x3x8xf32> "qkv"
  // expected-error@+1 {{needs 7 sizes, and 6 operands with an offset and 4 strides each}}
  device.attention 0 @attention(%0, %0, %0, %0, %0) sizes [2, 2, 2, 3, 3, 4, 4] offsets [0, 0, 0, 0, 0] strides [24, 4, 8, 1] scale 1.0 masked infinite
} eval {
}

// -----

device.program @steps m 2 devices 1 state 0 bytes scratch 256 bytes attributes {phases = [{gradients, loop, name = "micro"}]} step {
  device.for_micro 0 {
    device.for_slices 2 "sample" "the micro-batch sample by sample" {
      // expected-error@+1 {{has one step for each device.for_slices around it, none negative}}
      %0 = device.buffer scratch at 0 step [16, 4] : tensor<4xf32> "scores"
    }
  }
} eval {
}

// -----

device.program @backwards m 2 devices 1 state 0 bytes scratch 256 bytes attributes {phases = [{gradients, loop, name = "micro"}]} step {
  device.for_micro 0 {
    device.for_slices 2 "sample" "the micro-batch sample by sample" {
      // expected-error@+1 {{has one step for each device.for_slices around it, none negative}}
      %0 = device.buffer scratch at 64 step [-16] : tensor<4xf32> "scores"
    }
  }
} eval {
}

// -----

device.program @last_round m 2 devices 1 state 0 bytes scratch 256 bytes attributes {phases = [{gradients, loop, name = "micro"}]} step {
  device.for_micro 0 {
    device.for_slices 16 "sample" "the micro-batch sample by sample" {
      %0 = device.buffer scratch at 0 step [16] : tensor<4xf32> "scores"
      // expected-error@+1 {{ends outside the scratch of 256 bytes}}
      %1 = device.buffer scratch at 64 step [16] : tensor<4xf32> "scores"
    }
  }
} eval {
}

// -----

device.program @state_steps m 2 devices 1 state 256 bytes scratch 256 bytes attributes {phases = [{gradients, loop, name = "micro"}]} step {
  device.for_micro 0 {
    device.for_slices 2 "sample" "the micro-batch sample by sample" {
      // expected-error@+1 {{skips bytes of the state, the scratch or an input, in slices of the last two only}}
      %0 = device.buffer state at 0 step [16] : tensor<4xf32> "w"
    }
  }
} eval {
}

// -----

device.program @no_round m 2 devices 1 state 0 bytes scratch 256 bytes attributes {phases = [{gradients, loop, name = "micro"}]} step {
  device.for_micro 0 {
    // expected-error@+1 {{runs for at least one slice}}
    device.for_slices 0 "sample" "the micro-batch sample by sample" {
    }
  }
} eval {
}

// -----

device.program @outside m 2 devices 1 state 0 bytes scratch 256 bytes step {
  // expected-error@+1 {{expects parent op to be one of 'device.for_micro, device.for_slices'}}
  device.for_slices 2 "sample" "the micro-batch sample by sample" {
  }
} eval {
}

// -----

device.program @short_pitch m 2 devices 1 state 0 bytes scratch 256 bytes step {
  // expected-error@+1 {{has a pitch in the scratch only, no shorter than its rows}}
  %0 = device.buffer scratch at 0 pitch 3 : tensor<2x4xf32> "scores"
} eval {
}

// -----

device.program @pitch_of_state m 2 devices 1 state 256 bytes scratch 0 bytes step {
  // expected-error@+1 {{has a pitch in the scratch only, no shorter than its rows}}
  %0 = device.buffer state at 0 pitch 8 : tensor<2x4xf32> "w"
} eval {
}

// -----

device.program @long_rows m 2 devices 1 state 0 bytes scratch 128 bytes step {
  %0 = device.buffer scratch at 0 pitch 16 : tensor<2x10xf32> "scores"
  // expected-error@+1 {{ends outside the scratch of 128 bytes}}
  %1 = device.buffer scratch at 64 pitch 16 : tensor<2x10xf32> "scores"
} eval {
}

// -----

func.func @outside(%a: !device.buffer) {
  // expected-error @+1 {{expects parent op to be one of 'device.program, device.for_micro, device.for_slices, device.first_micro'}}
  device.copy %a to %a
  return
}

// -----

device.program @unlisted m 2 devices 1 state 0 bytes scratch 0 bytes attributes {phases = [{name = "weights"}]} step {
  // expected-error@+1 {{is of phase 0, which the program does not list as a loop}}
  device.for_micro 0 {
  }
} eval {
}

// -----

device.program @elsewhere m 2 devices 1 state 0 bytes scratch 0 bytes attributes {phases = [{eval, loop, name = "evaluation"}]} step {
  // expected-error@+1 {{is of phase "evaluation", which is part of the evaluation}}
  device.for_micro 0 {
  }
} eval {
}

// -----

device.program @no_gradients m 2 devices 1 state 256 bytes scratch 0 bytes attributes {phases = [{loop, name = "pre-pass"}]} step {
  %0 = device.buffer state at 0 : tensor<3xf32> "w"
  device.for_micro 0 {
    // expected-error@+1 {{stands in no loop that adds to gradients}}
    device.start_all_reduce %0
  }
} eval {
}

// SPDX-License-Identifier: Apache-2.0
// Everything of the nn dialect, for generators that want the whole: attributes, enums, documentation.
#ifndef ACCUM_NN
#define ACCUM_NN

include "dialects/NN/NNAccumulation.td"
include "dialects/NN/NNAttention.td"
include "dialects/NN/NNContraction.td"
include "dialects/NN/NNElementwise.td"
include "dialects/NN/NNGather.td"
include "dialects/NN/NNLoss.td"
include "dialects/NN/NNNorm.td"
include "dialects/NN/NNRandom.td"
include "dialects/NN/NNReduction.td"
include "dialects/NN/NNShape.td"

#endif

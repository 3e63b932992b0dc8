// SPDX-License-Identifier: Apache-2.0
// What a float tensor's values give away. Every question is answered with no when the bytes are absent.
#pragma once
#include "compiler/Import/model/Model.h"

namespace accum::import {

/// One value repeated: ones, zeros. At least two elements.
bool isAllEqual(const Tensor &tensor);
/// cos and sin tables, sinusoidal positions: rows of sines and cosines of row-number times frequency, in
/// whichever order. Looks at no more than 64 rows.
bool isTrigonometricTable(const Tensor &tensor);
/// Rank 2 or more, and two distinct values of which one is 0 or at most -10,000 (-inf included).
bool isMask(const Tensor &tensor);
/// The largest number of f16.
constexpr double largestHalf = 65504;
/// A mask in f16: its lowest number is among the values, and none is above 0. Stops at the first that is,
/// which in weights is one of the first few.
bool hidesScores(const Tensor &tensor);
/// Every element is a * e + b of the other's element e in the same place, for one a != 0 and one b: `-w`,
/// `1 - w`, `w / 8`. At least three elements, not all equal; the shapes may differ.
bool isAffineIn(const Tensor &tensor, const Tensor &other);
/// 1, r, r^2, ...: rotary inverse frequencies.
bool isGeometric(const Tensor &tensor);
/// Each row (over the last dimension, of three at least) grows by one step, or is one number: distances and
/// counts.
bool isOfEvenSteps(const Tensor &tensor);
/// No two rows (over the last dimension) are equal.
bool hasDistinctRows(const Tensor &tensor);

/// Element `index` of a float tensor with bytes.
double elementAt(const Tensor &tensor, int64_t index);

} // namespace accum::import

// SPDX-License-Identifier: Apache-2.0
// Values go from the mapped file into the state in pieces, turned and converted on the way.
#include "runtime/weights/InitialWeights.h"
#include "base/NearestNames.h"
#include "runtime/files/Convert.h"
#include "runtime/files/WeightFiles.h"
#include "runtime/system/ProgressCounter.h"
#include "runtime/weights/WeightMatch.h"
#include "runtime/weights/WeightNames.h"
#include <algorithm>
#include <cmath>

namespace accum::runtime {
namespace {

constexpr size_t kMostNamed = 8;

/// "`a`, `b` and 3 more".
template <typename List, typename Say> std::string joined(const List &list, Say &&say) {
  std::string text;
  size_t named = std::min(list.size(), kMostNamed);
  for (size_t i = 0; i < named; ++i)
    text += (i ? ", " : "") + say(list[i]);
  return text + (list.size() > named ? " and " + std::to_string(list.size() - named) + " more" : "");
}

/// A block of the parameter: whole rows, or a part of one.
struct Block {
  int64_t row, rows, column, columns;
};

/// Of the file's transpose: `to` gets the block row by row. Reads along the file's rows.
void turn(const Array &array, DType dtype, const Block &block, std::vector<uint8_t> &strip, uint8_t *to) {
  int64_t stride = array.shape[1], from = int64_t(bytesOf(array.dtype));
  auto size = bytesOf(dtype);
  strip.resize(block.rows * size);
  for (int64_t c = 0; c < block.columns; ++c) {
    const uint8_t *line = array.data + ((block.column + c) * stride + block.row) * from;
    convert(line, array.dtype, strip.data(), dtype, block.rows);
    for (int64_t r = 0; r < block.rows; ++r)
      std::copy_n(strip.data() + r * size, size, to + (r * block.columns + c) * size);
  }
}

class Loader {
public:
  explicit Loader(StateMemory &state) : state(state) {}

  Status load(const ParameterSpec &param, const WeightChoice &choice) {
    return choice.as.transposed ? loadTransposed(param, choice) : loadPlain(param, choice);
  }

private:
  Status loadPlain(const ParameterSpec &param, const WeightChoice &choice);
  Status loadTransposed(const ParameterSpec &param, const WeightChoice &choice);
  /// `count` elements behind the first `first` of them.
  template <typename Fill>
  Status put(const ParameterSpec &param, double added, int64_t first, int64_t count, Fill &&fill);

  StateMemory &state;
  std::vector<uint8_t> strip;
};

template <typename Fill>
Status Loader::put(const ParameterSpec &param, double added, int64_t first, int64_t count, Fill &&fill) {
  auto size = bytesOf(param.dtype);
  countProgress();
  return state.write(param.stateOffset + first * size, count * size, [&](uint8_t *to) {
    fill(to);
    for (int64_t i = 0; added != 0 && i < count; ++i)
      storeFloat(to, param.dtype, i, asDouble(to, param.dtype, i) + added);
  });
}

Status Loader::loadPlain(const ParameterSpec &param, const WeightChoice &choice) {
  const Array &array = *choice.array;
  Status status;
  Status read = forEachPiece(array, [&](int64_t first, int64_t count, const uint8_t *values) {
    status = put(param, choice.as.added, first, count,
                 [&](uint8_t *to) { convert(values, array.dtype, to, param.dtype, count); });
    return bool(status);
  });
  return read ? status : read;
}

Status Loader::loadTransposed(const ParameterSpec &param, const WeightChoice &choice) {
  const Array &array = *choice.array;
  auto most = int64_t(StateMemory::kPieceBytes / bytesOf(param.dtype));
  int64_t width = param.shape[1], columns = std::min(width, most),
          rows = most / std::max<int64_t>(columns, 1);
  for (int64_t row = 0; row < param.shape[0]; row += rows)
    for (int64_t column = 0; column < width; column += columns) {
      Block block{row, std::min(rows, param.shape[0] - row), column, std::min(columns, width - column)};
      Status status = put(param, choice.as.added, row * width + column, block.rows * block.columns,
                          [&](uint8_t *to) { turn(array, param.dtype, block, strip, to); });
      if (!status)
        return status;
      array.file->release(array.data, array.bytes());
    }
  return {};
}

double valueAt(const WeightChoice &choice, int64_t row, int64_t column, int64_t width, int64_t height) {
  int64_t at = choice.as.transposed ? column * height + row : row * width + column;
  return asDouble(choice.array->data, choice.array->dtype, at) + choice.as.added;
}

bool isSame(const ParameterSpec &param, const WeightChoice &a, const WeightChoice &b) {
  int64_t width = param.shape.size() < 2 ? param.elements() : param.elements() / param.shape[0];
  for (int64_t i = 0; i < param.elements(); ++i) {
    int64_t row = i / width, column = i % width, height = param.elements() / width;
    double first = valueAt(a, row, column, width, height), second = valueAt(b, row, column, width, height);
    if (first != second && !(std::isnan(first) && std::isnan(second)))
      return false;
  }
  return true;
}

/// What no flag lets pass: a type without a conversion, and copies of one tensor that are not equal.
Status checkChoices(const ParameterSpec &param, const std::vector<WeightChoice> &choices,
                    const std::string &path) {
  for (const WeightChoice &choice : choices) {
    const Array &array = *choice.array;
    if (!canConvert(array.dtype, param.dtype) || !isFloat(array.dtype))
      return Error{kExitFile,
                   array.path + ": `" + array.name + "` has dtype " + std::string(nameOf(array.dtype)) +
                       ", expected " + std::string(nameOf(param.dtype)),
                   "weights"};
    if (&choice != &choices.front() && !isSame(param, choices.front(), choice))
      return Error{kExitFile,
                   path + ": `" + choices.front().array->name + "` and `" + array.name +
                       "` are one tensor in the model, and differ in this file",
                   "weights",
                   {"accumc --untie keeps apart what the model file has twice"}};
  }
  return {};
}

std::string sayMissing(const Manifest &manifest, const WeightMatch &match, size_t number) {
  const ParameterSpec &param = manifest.params[number];
  std::string name = param.framework.empty() ? param.onnxName : param.framework.front().name;
  std::string near = nearestName(name, match.leftOver);
  return quotedName(name) + (near.empty() ? "" : " (in the file: " + quotedName(near) + "?)");
}

std::string sayMisfit(const Manifest &manifest, const WeightMisfit &misfit) {
  std::vector<int64_t> shape = manifest.params[misfit.param].shape;
  if (misfit.choice.as.transposed)
    std::swap(shape[0], shape[1]);
  const Array &array = *misfit.choice.array;
  return quotedName(array.name) + " " + formatShape(array.shape) + ", not " + formatShape(shape);
}

std::vector<std::string> findings(const Manifest &manifest, const WeightMatch &match) {
  std::vector<std::string> all;
  if (!match.missing.empty())
    all.push_back("not in the file: " +
                  joined(match.missing, [&](size_t p) { return sayMissing(manifest, match, p); }));
  if (!match.misfits.empty())
    all.push_back("of another shape than the model's: " +
                  joined(match.misfits, [&](const WeightMisfit &each) { return sayMisfit(manifest, each); }));
  if (!match.leftOver.empty())
    all.push_back("only in the file: " + joined(match.leftOver, quotedName));
  return all;
}

std::string count(size_t number, const char *what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

/// Strict: one sentence and its evidence. Partial: nothing at all is still a mistake.
Status checkMatch(const Manifest &manifest, const WeightMatch &match, const InitialWeights &from,
                  size_t taken, size_t trained) {
  std::vector<std::string> notes = findings(manifest, match);
  if (notes.empty() || (from.partial && taken > 0))
    return {};
  if (taken == 0)
    return Error{kExitFile, from.path + ": holds none of the model's " + count(trained, "trained parameter"),
                 "weights", notes};
  notes.push_back("--init-partial takes what fits, and leaves the rest as it is in the artifact");
  return Error{kExitFile,
               from.path + ": does not fit the model: " + std::to_string(match.missing.size()) +
                   " missing, " + std::to_string(match.misfits.size()) + " of another shape, " +
                   std::to_string(match.leftOver.size()) + " left over",
               "weights", notes};
}

} // namespace

Expected<TakenWeights> initParameters(const Manifest &manifest, const InitialWeights &from,
                                      StateMemory &state) {
  auto arrays = readWeights(from.path);
  if (!arrays)
    return arrays.error();
  auto match = matchWeights(manifest, *arrays, from.path, from.names);
  if (!match)
    return match.error();
  TakenWeights result;
  size_t trained = 0, frozen = 0;
  for (size_t p = 0; p < manifest.params.size(); ++p) {
    bool isThere = !match->choices[p].empty();
    trained += manifest.params[p].trained;
    frozen += !manifest.params[p].trained && !isThere;
    if (isThere)
      result.params.push_back(p);
  }
  if (Status status = checkMatch(manifest, *match, from, result.params.size(), trained); !status)
    return status.error();
  for (size_t p : result.params)
    if (Status status = checkChoices(manifest.params[p], match->choices[p], from.path); !status)
      return status.error();
  Loader loader(state);
  for (size_t p : result.params)
    if (Status status = loader.load(manifest.params[p], match->choices[p].front()); !status)
      return status.error();
  if (!match->prefix.empty())
    result.notices.push_back(from.path + ": its names are taken " + match->prefix);
  for (const std::string &finding : findings(manifest, *match))
    result.notices.push_back(from.path + ": " + finding);
  if (frozen > 0)
    result.notices.push_back(from.path + ": " + count(frozen, "frozen tensor") +
                             " not in the file: the artifact's values");
  return result;
}

} // namespace accum::runtime

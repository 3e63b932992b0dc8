// SPDX-License-Identifier: Apache-2.0
// One sample of a line of tokens: read, checked, and turned into labels and positions. Allocates nothing
// unless it fails.
#include "runtime/data/TokenWindows.h"
#include "runtime/files/Convert.h"
#include <algorithm>

namespace accum::runtime {

/// Its file, and the first token in it.
std::pair<size_t, int64_t> TokenWindows::placeOf(uint64_t sample) const {
  auto behind = std::upper_bound(starts.begin(), starts.end(), int64_t(sample));
  size_t file = size_t(behind - starts.begin()) - 1;
  return {file, (int64_t(sample) - starts[file]) * length};
}

Error TokenWindows::badToken(const TokenFile &file, int64_t position, int64_t token) const {
  return {kExitFile,
          file.tokens.path + ": token " + std::to_string(position) + " is " + std::to_string(token) +
              ", expected an id below " + std::to_string(bound) + ", as the model's `" + tokenInput->name +
              "` takes",
          "bad-data"};
}

/// Marks the last token of each document that ends in the sample.
Status TokenWindows::findDocuments(const TokenFile &file, int64_t first) {
  if (separator) {
    for (size_t t = 0; t < tokens.size(); ++t)
      isLast[t] = tokens[t] == *separator;
    return {};
  }
  std::ranges::fill(isLast, 0);
  for (int64_t at = first;;) {
    auto next = file.index->nextDocument(at);
    if (!next)
      return next.error();
    if (*next <= at || *next > first + int64_t(tokens.size()))
      return {};
    isLast[size_t(*next - 1 - first)] = 1;
    at = *next;
  }
}

Status TokenWindows::load(uint64_t sample) {
  if (loaded == sample)
    return {};
  loaded.reset();
  auto [number, first] = placeOf(sample);
  const TokenFile &file = files[number];
  const Array &array = file.tokens;
  const uint8_t *from = array.data + uint64_t(first) * bytesOf(array.dtype);
  if (Status status = array.file->read(from, bytes.size(), bytes.data()); !status)
    return status;
  auto count = int64_t(tokens.size());
  convert(bytes.data(), array.dtype, reinterpret_cast<uint8_t *>(tokens.data()), ACCUM_I64, count);
  uint64_t largest = 0; // of negative ones too
  for (int64_t token : tokens)
    largest = std::max(largest, uint64_t(token));
  if (largest >= uint64_t(bound)) {
    auto isWrong = [&](int64_t token) { return uint64_t(token) >= uint64_t(bound); };
    int64_t at = std::ranges::find_if(tokens, isWrong) - tokens.begin();
    return badToken(file, first + at, tokens[size_t(at)]);
  }
  if (hasDocuments)
    if (Status status = findDocuments(file, first); !status)
      return status;
  loaded = sample;
  return {};
}

Expected<const int64_t *> TokenWindows::read(Role role, uint64_t sample) {
  if (Status status = load(sample); !status)
    return status.error();
  bool isPlain = role == Role::Tokens || (role == Role::Labels && !hasDocuments);
  if (isPlain)
    return tokens.data() + (role == Role::Labels && readsNext ? 1 : 0);
  auto count = size_t(length);
  if (role == Role::Positions)
    for (size_t t = 0; t < count; ++t)
      made[t] = t > 0 && isLast[t - 1] == 0 ? made[t - 1] + 1 : 0;
  else if (readsNext)
    for (size_t t = 0; t < count; ++t)
      made[t] = isLast[t] != 0 ? ignored : tokens[t + 1];
  else
    for (size_t t = 0; t < count; ++t)
      made[t] = t > 0 && isLast[t - 1] != 0 ? ignored : tokens[t];
  return made.data();
}

void TokenWindows::touch(uint64_t sample, std::vector<uint8_t> &buffer) const {
  auto [number, first] = placeOf(sample);
  const Array &array = files[number].tokens;
  array.touch(uint64_t(first) * bytesOf(array.dtype), bytes.size(), buffer);
}

} // namespace accum::runtime

// SPDX-License-Identifier: Apache-2.0
// A value, or why there is none. Each library says in its own type why: `E`.
#ifndef ACCUM_BASE_EXPECTED_H
#define ACCUM_BASE_EXPECTED_H

#include <optional>
#include <utility>
#include <variant>

namespace accum {

template <typename T, typename E> class [[nodiscard]] Expected {
public:
  Expected(T value) : content(std::in_place_index<0>, std::move(value)) {}
  Expected(E error) : content(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return content.index() == 0; }
  T &operator*() { return std::get<0>(content); }
  const T &operator*() const { return std::get<0>(content); }
  T *operator->() { return &std::get<0>(content); }
  const T *operator->() const { return &std::get<0>(content); }
  E &error() { return std::get<1>(content); }
  const E &error() const { return std::get<1>(content); }

private:
  std::variant<T, E> content;
};

/// Success or an error, where there is no value to return.
template <typename E> class [[nodiscard]] Success {
public:
  Success() = default;
  Success(E error) : failure(std::move(error)) {}

  explicit operator bool() const { return !failure; }
  const E &error() const { return *failure; }

private:
  std::optional<E> failure;
};

} // namespace accum
#endif

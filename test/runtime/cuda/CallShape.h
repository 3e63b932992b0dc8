// SPDX-License-Identifier: Apache-2.0
// Whether our own declaration of a function and a header's are called alike.
#ifndef ACCUM_TEST_CALLSHAPE_H
#define ACCUM_TEST_CALLSHAPE_H

#include <type_traits>

namespace accum::test {

/// Whether a call through one type does what a call through the other would: as many arguments, of equal
/// sizes and kinds of register.
template <typename A, typename B>
constexpr bool passesAlike =
    sizeof(A) == sizeof(B) && std::is_floating_point_v<A> == std::is_floating_point_v<B> &&
    std::is_class_v<A> == std::is_class_v<B> && std::is_pointer_v<A> == std::is_pointer_v<B>;

template <typename R, typename... A, typename S, typename... B> bool sameShape(R (*)(A...), S (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B))
    return false;
  else
    return passesAlike<R, S> && (passesAlike<A, B> && ...);
}

} // namespace accum::test
#endif

// SPDX-License-Identifier: Apache-2.0
// What a name that is not known may have meant.
#ifndef ACCUM_BASE_NEARESTNAMES_H
#define ACCUM_BASE_NEARESTNAMES_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace accum {

/// Letters to insert, to remove or to replace until `glob` matches; a ? stands for any letter, a * for any
/// number of them.
size_t editDistance(std::string_view glob, std::string_view name);

/// At most `count` of them, those that the fewest changes of a letter of `glob` (with * and ?) would match
/// first, and names of one distance by the alphabet.
std::vector<std::string> nearestNames(std::string_view glob, const std::vector<std::string> &names,
                                      size_t count);

/// The first of those with the fewest letters to change; "" where that is more than a third of `name`.
std::string nearestName(std::string_view name, const std::vector<std::string> &names);

} // namespace accum
#endif

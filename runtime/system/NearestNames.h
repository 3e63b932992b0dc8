// SPDX-License-Identifier: Apache-2.0
// Which names a pattern that matches none may have meant.
#ifndef ACCUM_RUNTIME_SYSTEM_NEARESTNAMES_H
#define ACCUM_RUNTIME_SYSTEM_NEARESTNAMES_H

#include <string>
#include <vector>

namespace accum::runtime {

/// Letters to insert, to remove or to replace until `glob` matches; a ? stands for any letter, a * for any
/// number of them.
size_t editDistance(const std::string &glob, const std::string &name);

/// At most `count` of them, those that the fewest changes of a letter of `glob` (with * and ?) would match
/// first, and names of one distance by the alphabet.
std::vector<std::string> nearestNames(const std::string &glob, const std::vector<std::string> &names,
                                      size_t count);

} // namespace accum::runtime
#endif

// SPDX-License-Identifier: Apache-2.0
// The control groups that this process is in, of version 1 and 2.
#ifndef ACCUM_RUNTIME_SYSTEM_CONTROLGROUPS_H
#define ACCUM_RUNTIME_SYSTEM_CONTROLGROUPS_H

#include <functional>
#include <string>

namespace accum::runtime {

/// `visit(folder, isVersion2)` for the process's group of a controller, such as "memory", and for those
/// around it, from inside out. Folders may be absent. `root` stands before /proc and /sys.
void forEachControlGroup(const std::string &controller, const std::string &root,
                         const std::function<void(const std::string &, bool)> &visit);

} // namespace accum::runtime
#endif

// SPDX-License-Identifier: Apache-2.0
// Reads /proc/self/cgroup.
#include "runtime/system/ControlGroups.h"
#include <fstream>

namespace accum::runtime {

void forEachControlGroup(const std::string &controller, const std::string &root,
                         const std::function<void(const std::string &, bool)> &visit) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) { // HIERARCHY:CONTROLLER,...:/PATH
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    bool isVersion2 = line.starts_with("0::");
    if (!isVersion2 && controllers.find("," + controller + ",") == std::string::npos)
      continue;
    std::string mount = root + "/sys/fs/cgroup" + (isVersion2 ? "" : "/" + controller);
    // In a container the folder may be that of a group on the path, whose outer part is not there.
    std::string path = line.substr(second + 1);
    while (path.ends_with('/'))
      path.pop_back();
    for (;; path.resize(path.rfind('/'))) {
      visit(mount + path, isVersion2);
      if (path.rfind('/') == std::string::npos)
        break;
    }
  }
}

} // namespace accum::runtime

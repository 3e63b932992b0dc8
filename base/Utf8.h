// SPDX-License-Identifier: Apache-2.0
// Names end up in JSON and on terminals: they must be text.
#ifndef ACCUM_BASE_UTF8_H
#define ACCUM_BASE_UTF8_H

#include <string_view>

namespace accum {

/// Well-formed UTF-8 without overlong forms or surrogates (RFC 3629).
bool isUtf8(std::string_view text);

} // namespace accum
#endif

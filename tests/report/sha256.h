// SHA-256 as FIPS 180-4 has it, to check what a page's policy says of its own parts.
#pragma once

#include <string>
#include <string_view>

namespace kvsim::report {

/// In base64, as content security policies write it.
[[nodiscard]] std::string sha256_base64(std::string_view text);

}  // namespace kvsim::report

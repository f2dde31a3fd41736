#include "tools/text/visible.h"

#include <algorithm>

#include "models/schema/unseen.h"

namespace kvsim::text {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_control(unsigned char byte) {
  constexpr unsigned char space = 0x20, del = 0x7F;
  return (byte < space && byte != '\n' && byte != '\t') || byte == del;
}

}  // namespace

std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t taken = 1;
    if (is_control(static_cast<unsigned char>(text.front()))) {
      out += kReplacement;
    } else if (const std::size_t hidden = schema::unseen_at(text); hidden > 0) {
      out += kReplacement;
      taken = std::min(hidden, text.size());
    } else {
      out += text.front();
    }
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace kvsim::text

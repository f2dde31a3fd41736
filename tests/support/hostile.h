// Names that break pages, tables and pictures whose writers trust them.
#pragma once

#include <string>
#include <vector>

namespace kvsim::testing {

inline const std::vector<std::string>& hostile_names() {
  static const std::vector<std::string> names{
      "<script>alert(1)</script>",
      "\"><img src=x onerror=alert(1)>",
      "' onmouseover='alert(1)",
      "]]>",
      "</style></title></pre>",
      "<!-- & -->",
      "&lt;script&gt; &amp;amp;",
      "a|b\nc\r\nd",
      "\xF0\x9F\x94\xA5 fire",  // an emoji
      "\xE2\x80\xAE"
      "drawkcab",                           // right-to-left override
      std::string("nul\0and\x01\x7F", 10),  // control characters
      "=1+1",
      "",
      std::string(10000, 'x'),
  };
  return names;
}

}  // namespace kvsim::testing

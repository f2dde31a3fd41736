#include "tools/cli/roff.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace kvsim::cli::roff {
namespace {

/// The code point that begins at `at`, which moves behind it. kvsim's own texts: well-formed UTF-8.
char32_t code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at++);
  if (lead < 0x80) return lead;
  const int following = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  char32_t value = lead & (0x3FU >> following);
  for (int i = 0; i < following && at < text.size(); ++i) value = (value << 6) | (byte(at++) & 0x3FU);
  return value;
}

std::string escaped(std::string_view text, bool typed) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = code_point(text, at);
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-' && typed) {
      out += "\\-";
    } else if (c == '\'' && typed) {
      out += "\\(aq";
    } else if (c == '`') {
      out += "\\(ga";
    } else if (c == '^') {
      out += "\\(ha";
    } else if (c == '~') {
      out += "\\(ti";
    } else if (c >= 0x80) {
      out += fmt::format("\\[u{:04X}]", static_cast<std::uint32_t>(c));
    } else {
      out += static_cast<char>(c);
    }
  }
  return out;
}

/// Options, names and paths, as against words such as "low-bit".
bool is_typed(std::string_view word) {
  return word.starts_with('-') || word.find_first_of("0123456789_/=.") + 1 < word.size();
}

std::string words(std::string_view text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const std::string_view bare = word.substr(std::min(word.find_first_not_of("(\"'"), word.size()));
    out += escaped(word, is_typed(bare));
    if (end < text.size()) out += ' ';
    begin = end + 1;
  }
  return out;
}

/// Lines that a backslash joins as one.
std::string joined(std::string_view lines) {
  std::string out;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find("\\\n"), lines.size());
    out += lines.substr(0, end);
    lines.remove_prefix(std::min(end + 2, lines.size()));
    if (!lines.empty()) lines.remove_prefix(std::min(lines.find_first_not_of(' '), lines.size()));
  }
  return out;
}

/// Words of a command, an option with its value as one; blanks in quotes separate none.
std::vector<std::string> words_of_command(std::string_view line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    const bool awaits_value = out.back().starts_with("--") && out.back().find(' ') == std::string::npos;
    if (c == ' ' && !quoted && !awaits_value) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

std::string folded(std::string_view line, std::size_t width) {
  if (line.size() <= width) return std::string(line);
  std::string out;
  std::size_t used = 0;
  for (const std::string& word : words_of_command(line)) {
    if (used > 0 && used + 1 + word.size() + 2 > width) {
      out += " \\\n    ";
      used = 4;
    } else if (used > 0) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
  }
  return out;
}

}  // namespace

std::string literal(std::string_view text) {
  return escaped(text, true);
}

std::string bold(std::string_view text) {
  return "\\fB" + literal(text) + "\\fR";
}

std::string italic(std::string_view text) {
  return "\\fI" + literal(text) + "\\fR";
}

std::string guarded(std::string line) {
  if (line.starts_with('.') || line.starts_with('\'')) line.insert(0, "\\&");
  return line;
}

std::string prose(std::string_view text) {
  std::string out;
  for (bool code = false; !text.empty(); code = !code) {
    const std::size_t end = std::min(text.find('`'), text.size());
    const std::string_view part = text.substr(0, end);
    out += code ? bold(part) : words(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return guarded(out);
}

std::string example(std::string_view text, std::size_t width) {
  std::string out = ".PP\n.RS 4\n.EX\n";
  const std::string whole = joined(text);
  std::string_view lines = whole;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string line = folded(lines.substr(0, end), width);
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t stop = std::min(line.find('\n', begin), line.size());
      out += guarded(literal(std::string_view(line).substr(begin, stop - begin))) + "\n";
      begin = stop + 1;
    }
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return out + ".EE\n.RE\n";
}

}  // namespace kvsim::cli::roff

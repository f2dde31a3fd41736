// Text as roff (the man macros) wants it.
#pragma once

#include <string>
#include <string_view>

namespace kvsim::cli::roff {

/// A line of prose: what roff would take for markup is escaped, `code` in backquotes becomes bold, and hyphens of what
/// one types (--out, llama-3.1-8b) stay hyphens that can be copied.
std::string prose(std::string_view text);

/// As typed, every character: for names and for lines of examples.
std::string literal(std::string_view text);

std::string bold(std::string_view text);
std::string italic(std::string_view text);

/// Lines as they are, in a block of their own. Commands beyond `width` columns go on in the next line, after a
/// backslash.
std::string example(std::string_view lines, std::size_t width);

/// A line that begins with a dot or a quote would be a request.
std::string guarded(std::string line);

}  // namespace kvsim::cli::roff

// Traces of one JSON object a line with timestamp, input_length, output_length and hash_ids. Internal to the readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/workload/line_reader.h"

namespace kvsim::models {

struct JsonlRequest {
  double timestamp = 0;  ///< in the format's unit
  std::int64_t input_length = 0;
  std::int64_t output_length = 0;
  std::vector<std::uint64_t> hash_ids;
  std::size_t timestamp_byte = 0;  ///< where each value starts in the line
  std::size_t input_byte = 0;
  std::size_t output_byte = 0;
  std::size_t hash_ids_byte = 0;
};

/// Parses lines into requests; other keys of an object are skipped.
class JsonlParser {
 public:
  explicit JsonlParser(LineReader& lines);
  ~JsonlParser();
  JsonlParser(const JsonlParser&) = delete;
  JsonlParser& operator=(const JsonlParser&) = delete;

  /// The next line's request, valid until the next call; null at the end. Throws schema::InputError where the line is
  /// no object of that shape.
  JsonlRequest* next();

 private:
  struct Parser;
  LineReader& lines_;
  std::unique_ptr<Parser> parser_;
  JsonlRequest request_;
};

}  // namespace kvsim::models

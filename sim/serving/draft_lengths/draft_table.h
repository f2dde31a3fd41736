// Keys of draft length policy table, as planned for a machine (kvsim plan --draft-table) or measured on it.
#pragma once

#include <cstdint>
#include <vector>

namespace kvsim::serving {

/// For batches up to this many requests and contexts up to this many tokens.
struct DraftTableRow {
  std::int64_t batch = 1;
  std::int64_t context = 1;
  std::int64_t draft_length = 1;
};

struct DraftTableKeys {
  std::vector<DraftTableRow> rows;  ///< ascending in batch, then context
};

}  // namespace kvsim::serving

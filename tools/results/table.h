// The page model under the names that the pages of results use.
#pragma once

#include "tools/page/page.h"

namespace kvsim::results {

using page::Align;
using page::Cell;
using page::display_width;
using page::key_figures;
using page::List;
using page::Look;
using page::Page;
using page::shade_of;
using page::Table;
using page::TextStyle;
using page::to_markdown;
using page::to_text;
using page::Tone;
using page::with_columns;

}  // namespace kvsim::results

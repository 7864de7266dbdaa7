// The head of the log: its length and the Merkle tree over it, written with every append in the
// same batch as the records.
#pragma once

#include <string>
#include <string_view>

#include "store/merkle_tree.h"
#include "store/store_error.h"

namespace signalbox {

// Appends the encoded head to `out`. The position of the last record is frontier.leaves: every
// record is a leaf.
void encode_head(const MerkleFrontier& frontier, std::string& out);
Stored<MerkleFrontier> decode_head(std::string_view bytes);

}  // namespace signalbox

#include "domain/command.h"

#include "domain/one_of_members.h"

namespace signalbox {

template class OneOf<CommandVariant>;

}  // namespace signalbox

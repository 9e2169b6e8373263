/* CUPTI: there is nothing on the device to be profiled. */
#include "stand_in.h"

status cuptiGetVersion(unsigned *version)
{
    *version = 1;
    return SUCCESS;
}

status cuptiGetResultString(status error, const char **text)
{
    *text = error == SUCCESS ? "no error" : "error";
    return SUCCESS;
}

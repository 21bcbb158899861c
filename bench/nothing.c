/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest possible process: the baseline of every timing of a whole command. */
int main(void)
{
    return 0;
}

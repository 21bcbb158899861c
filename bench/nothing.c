/* The cheapest process there is: what every timing of a whole command is set against. */
int main(void)
{
    return 0;
}
